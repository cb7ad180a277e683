#include <algorithm>
#include <barrier>
#include <chrono>
#include <deque>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/base/text/format.h"
#include "ronde/comm/testing/pending.h"
#include "ronde/comm/testing/ranks.h"
#include "ronde/comm/testing/requests.h"

// Groups of any ranks in any order, and members that have run out of data.
namespace ronde::comm {
namespace {

using tests::Call;
using tests::every_call;
using tests::expect_none;
using tests::kAllOperations;
using tests::run_calls;
using tests::run_watched;

std::vector<std::vector<int>> some_groups(int ranks) {
  std::vector<int> backwards(static_cast<std::size_t>(ranks));
  std::iota(backwards.rbegin(), backwards.rend(), 0);
  std::vector<std::vector<int>> groups{backwards, {ranks - 1}, {0}};
  if (ranks > 2) groups.push_back({2, 0});
  if (ranks > 3) groups.push_back({1, 3, 2});
  return groups;
}

class EngineGroups : public testing::TestWithParam<tests::Place> {
 protected:
  const tests::Place& place() const { return GetParam(); }
  int ranks() const { return place().ranks; }
};

TEST_P(EngineGroups, EveryOperationInGroupsOfOtherOrders) {
  run_watched(place(), [&](Engine& engine) {
    for (const auto& members : some_groups(ranks())) {
      const Group group = engine.make_group(members);
      const auto me = std::find(members.begin(), members.end(), engine.rank());
      EXPECT_EQ(group.ranks(), members);
      EXPECT_EQ(group.size(), static_cast<int>(members.size()));
      EXPECT_EQ(group.rank(), me == members.end() ? -1 : static_cast<int>(me - members.begin()));
      if (group.rank() >= 0)
        for (const Operation operation : kAllOperations)
          for (const DType dtype : {DType::U16, DType::F32, DType::BF16})
            expect_none(run_calls(engine, group, every_call(operation, dtype, group.size()), {.seed = 3}));
      engine.drop_group(group);
    }
  });
}

// Ranks go through the groups in different orders; with the same names in all of them.
TEST_P(EngineGroups, GroupsThatShareRanksDoNotBlockEachOther) {
  run_watched(place(), [&](Engine& engine) {
    std::vector<Group> groups{engine.world()};
    for (const auto& members : some_groups(ranks())) groups.push_back(engine.make_group(members));
    std::erase_if(groups, [](const Group& group) { return group.rank() < 0; });
    for (int repetition = 0; repetition < 5; ++repetition) {
      std::rotate(groups.begin(), groups.begin() + engine.rank() % static_cast<int>(groups.size()), groups.end());
      std::vector<std::vector<float>> values;
      std::vector<Handle> handles;
      for (const Group& group : groups) {
        values.emplace_back(100, 1.0f);
        handles.push_back(group.allreduce("same name", buffer_of(values.back())));
      }
      for (std::size_t i = 0; i < groups.size(); ++i) {
        handles[i].wait();
        EXPECT_EQ(values[i], std::vector<float>(100, static_cast<float>(groups[i].size())));
      }
    }
  });
}

TEST_P(EngineGroups, ManyAreMadeAndDropped) {
  run_watched(place(), [&](Engine& engine) {
    for (int i = 0; i < 30; ++i) {
      const Group group = engine.make_group({i % ranks()});
      if (group.rank() == 0) expect_none(run_calls(engine, group, {Call{.name = "alone", .shape = {3}}}));
      engine.drop_group(group);
    }
  });
}

// Members that meet without the others, each group by a table of its own.
class Table {
 public:
  explicit Table(int members) : barrier_(members), blobs_(static_cast<std::size_t>(members)) {}

  std::vector<std::string> exchange(int member, const std::string& mine) {
    blobs_[static_cast<std::size_t>(member)] = mine;
    barrier_.arrive_and_wait();
    std::vector<std::string> all = blobs_;
    barrier_.arrive_and_wait();
    return all;
  }

 private:
  std::barrier<> barrier_;
  std::vector<std::string> blobs_;
};

class Seat final : public Bootstrap {
 public:
  Seat(Table& table, int member, int members) : table_(table), member_(member), members_(members) {}
  int rank() const override { return member_; }
  int size() const override { return members_; }
  std::vector<std::string> exchange(const std::string& mine, Deadline) override {
    return table_.exchange(member_, mine);
  }

 private:
  Table& table_;
  const int member_, members_;
};

// Other ranks do not hear of the group, and use the world and groups of all meanwhile.
TEST_P(EngineGroups, MembersMakeGroupsAmongThemselves) {
  const auto groups = some_groups(ranks());
  std::deque<Table> tables;
  for (const auto& members : groups) tables.emplace_back(static_cast<int>(members.size()));
  run_watched(place(), [&](Engine& engine) {
    for (std::size_t i = 0; i < groups.size(); ++i) {
      const auto& members = groups[i];
      const Group of_all = engine.make_group(members);
      const auto me = std::find(members.begin(), members.end(), engine.rank());
      if (me == members.end()) {
        engine.world().barrier().wait();
        engine.drop_group(of_all);
        continue;
      }
      const int member = static_cast<int>(me - members.begin());
      Seat seat(tables[i], member, static_cast<int>(members.size()));
      const Group group = engine.make_group_among(members, static_cast<std::uint32_t>(i + 1), seat);
      EXPECT_EQ(group.ranks(), members);
      EXPECT_EQ(group.rank(), member);
      for (const Group& one : {group, of_all})
        for (const Operation operation : kAllOperations)
          expect_none(run_calls(engine, one, every_call(operation, DType::F32, one.size()), {.seed = 5}));
      EXPECT_THROW(engine.drop_group(group), Error);
      EXPECT_THROW(engine.drop_group_among(of_all), Error);
      engine.world().barrier().wait();  // nobody uses it any more
      engine.drop_group_among(group);
      EXPECT_THROW(group.barrier(), Error);
      engine.drop_group(of_all);
    }
  });
}

TEST_P(EngineGroups, WhoMakesAGroupAmongOthersMustBeOneOfThem) {
  run_watched(place(), [&](Engine& engine) {
    Table table(1);
    Seat seat(table, 0, 1);
    EXPECT_THROW(engine.make_group_among({engine.rank()}, 0, seat), Error) << "numbers begin with 1";
    EXPECT_THROW(engine.make_group_among({engine.rank(), engine.rank()}, 1, seat), Error);
    EXPECT_THROW(engine.make_group_among({engine.size()}, 1, seat), Error);
    if (engine.size() > 1) {
      EXPECT_THROW(engine.make_group_among({(engine.rank() + 1) % engine.size()}, 1, seat), Error);
    }
  });
}

TEST_P(EngineGroups, TheLastToJoinIsKnownToAll) {
  run_watched(place(), [&](Engine& engine) {
    for (int last = 0; last < ranks(); ++last) {
      const Group group = engine.world();
      std::vector<float> ones(10, 1.0f);
      // Everyone but one joins; that one goes on alone, by every name that it likes.
      if (engine.rank() == last)
        for (const char* name : {"first", "second"}) {
          std::fill(ones.begin(), ones.end(), 1.0f);
          group.allreduce(name, buffer_of(ones)).wait();
          EXPECT_EQ(ones, std::vector<float>(10, 1.0f)) << "zeros from all others";
        }
      EXPECT_EQ(group.join().wait().last_joined, last);
    }
  });
}

// Member m takes part in m + 1 rounds of several calls.
std::vector<Call> joinable_calls(int ranks, int round) {
  std::vector<Call> calls;
  for (const DType dtype : tests::kAllDTypes)
    for (const ReduceOp op : {ReduceOp::Sum, ReduceOp::Average}) {
      Call call{.name = fmt::format("{} {}", name(dtype), name(op)), .dtype = dtype, .shape = {33}, .op = op};
      for (int member = 0; member < std::min(round, ranks); ++member) call.joined.push_back(member);
      call.seed = static_cast<std::uint64_t>(round);
      calls.push_back(call);
    }
  calls.push_back({.operation = Operation::Barrier, .name = "barrier", .joined = calls.front().joined});
  return calls;
}

TEST_P(EngineGroups, WhoHasJoinedTakesPartWithZeros) {
  run_watched(place(), [&](Engine& engine) {
    for (int repetition = 0; repetition < 4; ++repetition) {
      for (int round = 0; round <= engine.rank(); ++round)
        expect_none(run_calls(engine, engine.world(), joinable_calls(ranks(), round), {.seed = 2}));
      EXPECT_GE(engine.world().join().wait().last_joined, 0);
    }
  });
}

TEST_P(EngineGroups, CallsWithoutNamesMatchAgainAfterAJoin) {
  run_watched(place(), [&](Engine& engine) {
    for (int repetition = 0; repetition < 3; ++repetition) {
      for (int round = 0; round <= engine.rank(); ++round) {
        std::vector<Call> calls = joinable_calls(ranks(), round);
        for (Call& call : calls) call.name.clear();
        expect_none(run_calls(engine, engine.world(), calls));
      }
      engine.world().join().wait();
      std::vector<Call> calls = every_call(Operation::Allgather, DType::I32, ranks());
      for (Call& call : calls) call.name.clear();
      expect_none(run_calls(engine, engine.world(), calls));
    }
  });
}

TEST_P(EngineGroups, JoiningOneGroupLeavesOthersAlone) {
  run_watched(place(), [&](Engine& engine) {
    const Group other = engine.make_group(some_groups(ranks()).front());
    const Handle joined = engine.rank() == 0 ? engine.world().join() : Handle();
    for (int i = 0; i < 3; ++i)
      expect_none(run_calls(engine, other, every_call(Operation::Allreduce, DType::I16, ranks()), {.seed = 4}));
    if (engine.rank() != 0) engine.world().join().wait();
    if (joined) joined.wait();
    expect_none(run_calls(engine, engine.world(), every_call(Operation::Allreduce, DType::I16, ranks()), {.seed = 4}));
  });
}

// What was handed over before counts in full, also when the others come to it only after the join.
TEST_P(EngineGroups, WhatWasSubmittedBeforeJoiningStillCounts) {
  run_watched(place(), [&](Engine& engine) {
    std::vector<std::int32_t> greatest(5, engine.rank() == 0 ? 100 : engine.rank());
    std::vector<float> sum(5, 1.0f);
    if (engine.rank() != 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    const Handle first = engine.world().allreduce("greatest", buffer_of(greatest), {.op = ReduceOp::Max});
    const Handle second = engine.world().allreduce("sum", buffer_of(sum));
    const Handle joined = engine.world().join();
    joined.wait();
    first.wait();
    second.wait();
    EXPECT_EQ(greatest, std::vector<std::int32_t>(5, 100));
    EXPECT_EQ(sum, std::vector<float>(5, static_cast<float>(ranks())));
  });
}

TEST_P(EngineGroups, WhatNeedsEveryonesValueFailsWhileSomeoneHasJoined) {
  if (ranks() == 1) GTEST_SKIP() << "nobody else";
  run_watched(place(), [&](Engine& engine) {
    if (engine.rank() > 0) {
      for (const Operation operation : {Operation::Allreduce, Operation::Allgather}) {
        std::vector<float> values(4, 1.0f);
        const Handle handle = engine.world().submit(
            {.operation = operation, .name = "needs all", .input = buffer_of(values), .op = ReduceOp::Max});
        try {
          handle.wait();
          ADD_FAILURE() << name(operation) << " has a result";
        } catch (const Error& error) {
          EXPECT_NE(std::string(error.what()).find("needs all"), std::string::npos) << error.what();
          EXPECT_NE(std::string(error.what()).find("join"), std::string::npos) << error.what();
        }
      }
    }
    engine.world().join().wait();
    expect_none(run_calls(engine, engine.world(), every_call(Operation::Allreduce, DType::F32, ranks()), {.seed = 4}));
  });
}

INSTANTIATE_TEST_SUITE_P(All, EngineGroups,
                         testing::Values(tests::Place{1}, tests::Place{2}, tests::Place{3}, tests::Place{4},
                                         tests::Place{8}, tests::Place{3, 2}, tests::Place{4, 2}, tests::Place{7, 3}),
                         tests::place_name);

}  // namespace
}  // namespace ronde::comm
