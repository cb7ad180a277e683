#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <latch>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "ronde/base/text/format.h"
#include "ronde/comm/testing/pending.h"
#include "ronde/comm/testing/ranks.h"
#include "ronde/comm/testing/requests.h"

// Requests that repeat become a plan; whatever deviates from it must work all the same.
namespace ronde::comm {
namespace {

using tests::Call;
using tests::every_call;
using tests::expect_none;
using tests::run_calls;
using tests::run_watched;

// What a training step asks for: gradients of several types, and a little of everything else.
std::vector<Call> step_calls(int ranks) {
  std::vector<Call> calls;
  for (int i = 0; i < 40; ++i)
    calls.push_back({.name = fmt::format("gradient {}", i),
                     .dtype = i % 5 == 4 ? DType::BF16 : DType::F32,
                     .shape = {1 + i * 7 % 50, 3},
                     .op = ReduceOp::Average});
  for (const Operation operation : {Operation::Broadcast, Operation::Allgather, Operation::ReduceScatter})
    for (const Call& call : every_call(operation, DType::I32, ranks)) calls.push_back(call);
  return calls;
}

void run_step(Engine& engine, std::vector<Call> calls, std::uint64_t step, bool shuffled = true) {
  for (Call& call : calls) call.seed += step * 1000;
  expect_none(run_calls(engine, engine.world(), calls, {.seed = shuffled ? step + 1 : 0}));
}

class EngineRepeat : public testing::TestWithParam<tests::Place> {
 protected:
  const tests::Place& place() const { return GetParam(); }
  int ranks() const { return place().ranks; }
};

TEST_P(EngineRepeat, TheSameCallsAgainAndAgain) {
  run_watched(place(), [&](Engine& engine) {
    for (std::uint64_t step = 0; step < 8; ++step) run_step(engine, step_calls(ranks()), step);
  });
}

TEST_P(EngineRepeat, AllThatIsKnownAboutTheSecondTimeIsVotedOn) {
  run_watched(place(), [&](Engine& engine) {
    std::vector<Call> calls = step_calls(ranks());
    calls.resize(40);  // the gradients
    for (std::uint64_t step = 0; step < 5; ++step) run_step(engine, calls, step, false);
    const Statistics before = engine.statistics();
    for (std::uint64_t step = 5; step < 15; ++step) run_step(engine, calls, step, false);
    const Statistics after = engine.statistics();
    EXPECT_EQ(after.requests - before.requests, 400u);
    if (ranks() == 1) return;  // nobody to agree with
    EXPECT_GE(after.plans, 1u);
    EXPECT_GT(after.votes, before.votes);
    EXPECT_EQ(after.negotiations, before.negotiations);
    EXPECT_EQ(after.plans_given_up, before.plans_given_up);
    EXPECT_LE(after.buckets - before.buckets, 10u * 10) << "40 small tensors travel together";
  });
}

TEST_P(EngineRepeat, OtherShapesAndTypesByTheSameNames) {
  run_watched(place(), [&](Engine& engine) {
    std::uint64_t step = 0;
    for (const DType dtype : {DType::F32, DType::F16, DType::F32}) {
      std::vector<Call> calls = step_calls(ranks());
      for (std::size_t i = 0; i < 40; i += 3) calls[i].dtype = dtype, calls[i].shape = {static_cast<int>(dtype), 2};
      for (int repetition = 0; repetition < 5; ++repetition) run_step(engine, calls, step++);
    }
  });
}

TEST_P(EngineRepeat, CallsThatStayAwayAndComeBack) {
  run_watched(place(), [&](Engine& engine) {
    for (std::uint64_t step = 0; step < 20; ++step) {
      std::vector<Call> calls = step_calls(ranks());
      if (step % 4 == 3) std::erase_if(calls, [&](const Call& call) { return call.name.size() % 3 == step % 3; });
      run_step(engine, calls, step);
    }
  });
}

TEST_P(EngineRepeat, NewNamesOnTheWay) {
  run_watched(place(), [&](Engine& engine) {
    for (std::uint64_t step = 0; step < 12; ++step) {
      std::vector<Call> calls = step_calls(ranks());
      if (step % 3 == 2)
        calls.insert(calls.begin() + 20,
                     Call{.name = fmt::format("new at {}", step), .shape = {static_cast<std::int64_t>(step)}});
      run_step(engine, calls, step);
    }
  });
}

TEST_P(EngineRepeat, AnOperationChangesItsKind) {
  run_watched(place(), [&](Engine& engine) {
    for (std::uint64_t step = 0; step < 12; ++step) {
      std::vector<Call> calls = step_calls(ranks());
      if (step >= 4 && step < 8) calls[7].operation = Operation::Broadcast, calls[8].op = ReduceOp::Max;
      run_step(engine, calls, step);
    }
  });
}

// The program waits for one before it hands over the next, although the plan has both in one bucket.
TEST_P(EngineRepeat, WaitingInTheMiddleOfAPlan) {
  run_watched(place(), [&](Engine& engine) {
    std::vector<Call> calls = step_calls(ranks());
    calls.resize(12);
    for (std::uint64_t step = 0; step < 4; ++step) run_step(engine, calls, step, false);
    for (std::uint64_t step = 4; step < 8; ++step)
      for (const Call& call : calls) run_step(engine, {call}, step);
    for (std::uint64_t step = 8; step < 12; ++step) run_step(engine, calls, step, false);
  });
}

// One that all have handed over gets done, although the plan has it with another that stays away, and although only one
// rank waits for it: the others do something else first.
TEST_P(EngineRepeat, NobodyElseNeedsToWait) {
  std::latch done(1);
  run_watched(place(), [&](Engine& engine) {
    const Group world = engine.world();
    std::vector<float> first(10, 1.0f), second(10, 1.0f);
    for (int step = 0; step < 6; ++step) {
      const std::vector<Handle> both{world.allreduce("first", buffer_of(first), {.op = ReduceOp::Average}),
                                     world.allreduce("second", buffer_of(second), {.op = ReduceOp::Average})};
      for (const Handle& handle : both) handle.wait();
    }
    first.assign(10, static_cast<float>(2 * engine.rank()));
    const Handle handle = world.allreduce("first", buffer_of(first), {.op = ReduceOp::Average});
    if (engine.rank() == ranks() - 1) {
      handle.wait();
      done.count_down();
    }
    done.wait();
    handle.wait();
    EXPECT_EQ(first, std::vector<float>(10, static_cast<float>(ranks() - 1)));
  });
}

TEST_P(EngineRepeat, GroupedCallsRepeat) {
  run_watched(place(), [&](Engine& engine) {
    for (std::uint64_t step = 0; step < 8; ++step) {
      std::vector<Call> calls = step_calls(ranks());
      if (step == 5) calls.resize(30);
      for (Call& call : calls) call.seed += step;
      expect_none(run_calls(engine, engine.world(), calls, {.grouped = step != 6}));
    }
  });
}

// Each of them stands for all, also when a plan knows nothing of them.
TEST_P(EngineRepeat, WaitingForAnyOneOfAGroup) {
  run_watched(place(), [&](Engine& engine) {
    std::vector<float> first(10, 1.0f), second(10, 1.0f), third(10, 1.0f);
    const AllreduceOptions average{.op = ReduceOp::Average};
    for (const std::size_t waited : {1u, 2u, 0u}) {
      for (int step = 0; step < 6; ++step) {
        engine.world().allreduce("first", buffer_of(first), average).wait();
        engine.world().allreduce("second", buffer_of(second), average).wait();
      }
      const auto handles = engine.world().submit(
          std::vector<Request>{{.name = "first", .input = buffer_of(first), .op = ReduceOp::Average},
                               {.operation = Operation::Broadcast, .name = "second", .input = buffer_of(second)},
                               {.name = "third", .input = buffer_of(third), .op = ReduceOp::Average}});
      handles[waited].wait();
      for (const Handle& handle : handles) handle.wait();
    }
    EXPECT_EQ(third, std::vector<float>(10, 1.0f));
  });
}

TEST_P(EngineRepeat, StaticNeedsNoVotes) {
  run_watched(place(),
              [&](Engine& engine) {
                std::vector<Call> calls = step_calls(ranks());
                calls.resize(40);
                for (std::uint64_t step = 0; step < 5; ++step) run_step(engine, calls, step, false);
                const Statistics before = engine.statistics();
                for (std::uint64_t step = 5; step < 15; ++step) run_step(engine, calls, step, false);
                const Statistics after = engine.statistics();
                EXPECT_EQ(after.votes, before.votes);
                EXPECT_EQ(after.negotiations, before.negotiations);
              },
              {.static_plan = true});
}

TEST_P(EngineRepeat, DeterministicTakesAnyOrder) {
  run_watched(place(),
              [&](Engine& engine) {
                for (std::uint64_t step = 0; step < 6; ++step) run_step(engine, step_calls(ranks()), step);
              },
              {.deterministic = true});
}

TEST_P(EngineRepeat, SmallBucketsAndALinkThatIsSlow) {
  run_watched(place(),
              [&](Engine& engine) {
                for (std::uint64_t step = 0; step < 3; ++step) run_step(engine, step_calls(ranks()), step);
              },
              {.fusion_bytes = 512, .first_bucket_bytes = 64}, {.link_delay = std::chrono::milliseconds(1)});
}

constexpr std::array kRepeatPlaces{tests::Place{1}, tests::Place{2},    tests::Place{3},    tests::Place{4},
                                   tests::Place{8}, tests::Place{2, 2}, tests::Place{4, 2}, tests::Place{8, 3}};

INSTANTIATE_TEST_SUITE_P(All, EngineRepeat, testing::ValuesIn(kRepeatPlaces), tests::place_name);

// The first second may see the end of what other ranks do; one of several must be quiet.
void expect_an_idle_second(const tests::Place& place) {
  std::atomic<int> busy = place.ranks;  // nobody leaves while another one counts
  run_watched(place, [&](Engine& engine) {
    for (std::uint64_t step = 0; step < 3; ++step) run_step(engine, step_calls(place.ranks), step);
    Statistics before, after;
    bool quiet = false;
    for (int second = 0; second < 20 && !quiet; ++second) {
      before = engine.statistics();
      std::this_thread::sleep_for(std::chrono::seconds(1));
      after = engine.statistics();
      quiet = after.wake_ups == before.wake_ups && after.control_messages == before.control_messages;
    }
    EXPECT_TRUE(quiet) << name_of(place) << ", rank " << engine.rank() << ": " << after.wake_ups - before.wake_ups
                       << " wake-ups, " << after.control_messages - before.control_messages << " messages";
    for (--busy; busy > 0;) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  });
}

// All jobs are idle in the same seconds.
TEST(EngineIdle, AnIdleSecondCostsNothing) {
  std::vector<std::future<void>> jobs;
  for (const tests::Place& place : kRepeatPlaces)
    jobs.push_back(std::async(std::launch::async, expect_an_idle_second, place));
  for (std::future<void>& job : jobs) job.get();
}

}  // namespace
}  // namespace ronde::comm
