#include <atomic>
#include <numeric>
#include <set>
#include <thread>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "ronde/base/text/format.h"
#include "ronde/comm/testing/pending.h"
#include "ronde/comm/testing/ranks.h"
#include "ronde/comm/testing/requests.h"

// Every operation, type and number of ranks, against the reference.
namespace ronde::comm {
namespace {

using tests::Call;
using tests::every_call;
using tests::expect_none;
using tests::kAllDTypes;
using tests::kAllOperations;
using tests::run_calls;
using tests::run_watched;

class EngineMatrix : public testing::TestWithParam<std::tuple<Operation, tests::Place>> {
 protected:
  Operation operation() const { return std::get<0>(GetParam()); }
  const tests::Place& place() const { return std::get<1>(GetParam()); }
  int ranks() const { return place().ranks; }
};

TEST_P(EngineMatrix, EveryTypeGivesWhatTheReferenceGives) {
  run_watched(place(), [&](Engine& engine) {
    for (const DType dtype : kAllDTypes)
      expect_none(run_calls(engine, engine.world(), every_call(operation(), dtype, ranks()),
                            {.seed = 1 + static_cast<std::uint64_t>(dtype)}));
    engine.world().barrier().wait();  // who has nothing to send stays until the others have
  });
}

TEST_P(EngineMatrix, OneAfterTheOther) {
  run_watched(place(), [&](Engine& engine) {
    for (const DType dtype : {DType::F32, DType::BF16, DType::I64})
      for (const Call& call : every_call(operation(), dtype, ranks()))
        expect_none(run_calls(engine, engine.world(), {call}));
    engine.world().barrier().wait();
  });
}

INSTANTIATE_TEST_SUITE_P(All, EngineMatrix,
                         testing::Combine(testing::ValuesIn(kAllOperations), testing::ValuesIn(tests::kPlaces)),
                         [](const auto& test) {
                           return fmt::format("{}_{}", name(std::get<0>(test.param)),
                                              tests::name_of(std::get<1>(test.param)));
                         });

std::vector<Call> without_names(std::vector<Call> calls) {
  for (Call& call : calls) call.name.clear();
  return calls;
}

class EngineOps : public testing::TestWithParam<tests::Place> {
 protected:
  const tests::Place& place() const { return GetParam(); }
  int ranks() const { return place().ranks; }
};

TEST_P(EngineOps, WithoutNamesCallsMatchByTheirOrder) {
  run_watched(place(), [&](Engine& engine) {
    for (const Operation operation : kAllOperations)
      for (const DType dtype : {DType::U8, DType::F16, DType::F64})
        expect_none(run_calls(engine, engine.world(), without_names(every_call(operation, dtype, ranks()))));
    engine.world().barrier().wait();
  });
}

TEST_P(EngineOps, NamedAndUnnamedCallsDoNotMix) {
  run_watched(place(), [&](Engine& engine) {
    std::vector<Call> calls = every_call(Operation::Allreduce, DType::F32, ranks());
    for (std::size_t i = 0; i < calls.size(); i += 2) calls[i].name.clear();
    // Half of the ranks hand over all the named ones first.
    std::stable_partition(calls.begin(), calls.end(),
                          [&](const Call& call) { return engine.rank() % 2 == 0 && !call.name.empty(); });
    expect_none(run_calls(engine, engine.world(), calls));
  });
}

TEST_P(EngineOps, Grouped) {
  run_watched(place(), [&](Engine& engine) {
    for (const Operation operation : kAllOperations) {
      if (operation == Operation::Send) continue;  // members would submit different things together
      for (const DType dtype : {DType::I8, DType::BF16, DType::F32, DType::Bool}) {
        const std::vector<Call> calls = every_call(operation, dtype, ranks());
        expect_none(run_calls(engine, engine.world(), calls, {.grouped = true}));
        expect_none(run_calls(engine, engine.world(), without_names(calls), {.grouped = true}));
      }
    }
  });
}

TEST_P(EngineOps, ManyOperationsAndTypesOnTheirWayAtOnce) {
  run_watched(place(), [&](Engine& engine) {
    std::vector<Call> calls;
    for (const Operation operation : kAllOperations)
      for (const DType dtype : kAllDTypes) {
        const auto more = every_call(operation, dtype, ranks());
        for (std::size_t i = 0; i < more.size(); i += 4) calls.push_back(more[i]);
      }
    for (std::uint64_t seed = 1; seed <= 3; ++seed)
      expect_none(run_calls(engine, engine.world(), calls, {.seed = seed}));
  });
}

// Several megabytes, more than any step of a link can hold at once.
std::vector<Call> large_calls(int ranks) {
  const std::int64_t count = tests::kSanitized ? 60'001 : ranks > 4 ? 200'001 : 700'001;
  const auto each = static_cast<std::size_t>(ranks);
  std::vector<Call> calls{
      {.shape = {count}, .op = ReduceOp::Average},
      {.dtype = DType::I64, .shape = {count}},
      {.dtype = DType::BF16, .shape = {count / 8}},  // the reference is slow where it has to round
      {.operation = Operation::Broadcast, .shape = {count, 2}, .root = ranks - 1},
      {.operation = Operation::Allgather, .shape = {0, 3}, .rows = std::vector(each, count / 3 / ranks)},
      {.operation = Operation::Alltoall,
       .shape = {0},
       .rows = std::vector(each * each, count / ranks / ranks),
       .equal_shares = true},
      {.operation = Operation::ReduceScatter, .shape = {count / 7, 7}},
  };
  for (std::size_t i = 0; i < calls.size(); ++i) calls[i].name = fmt::format("large {}", i);
  return calls;
}

TEST_P(EngineOps, LargeTensors) {
  run_watched(place(), [&](Engine& engine) {
    for (std::uint64_t seed = 1; seed <= 2; ++seed)
      expect_none(run_calls(engine, engine.world(), large_calls(ranks()), {.seed = seed}));
  });
}

TEST_P(EngineOps, FromSeveralThreadsAtOnce) {
  run_watched(place(), [&](Engine& engine) {
    std::vector<std::jthread> threads;
    for (const DType dtype : {DType::I32, DType::F16, DType::F32, DType::F64})
      threads.emplace_back([&engine, dtype, this] {
        for (const Operation operation : kAllOperations)
          expect_none(run_calls(engine, engine.world(), every_call(operation, dtype, ranks()), {.seed = 5}));
      });
  });
}

TEST_P(EngineOps, HandlesMayBeDroppedAndPolled) {
  run_watched(place(), [&](Engine& engine) {
    std::vector<float> dropped(1000, 1.0f), polled(10, 2.0f), repeated(10, 3.0f);
    engine.world().allreduce("dropped", buffer_of(dropped));
    const Handle handle = engine.world().allreduce("polled", buffer_of(polled));
    while (!handle.poll()) std::this_thread::yield();
    EXPECT_EQ(polled, std::vector<float>(10, 2.0f * static_cast<float>(ranks())));
    const Handle again = engine.world().allreduce("repeated", buffer_of(repeated));
    const Handle copy = again;
    EXPECT_EQ(&again.wait(), &copy.wait());
    EXPECT_TRUE(copy.poll());
    engine.world().barrier().wait();
    // A barrier is no promise about what nobody waits for; a second one by that name is, since names cannot overlap.
    for (bool free = false; !free;) {
      try {
        engine.world().allreduce("dropped", buffer_of(dropped)).wait();
        free = true;
      } catch (const Error& error) {
        ASSERT_EQ(error.kind(), Error::Kind::BadInput) << error.what();
      }
    }
    const auto square = static_cast<float>(ranks() * ranks());
    EXPECT_EQ(dropped, std::vector<float>(1000, square));
  });
}

INSTANTIATE_TEST_SUITE_P(All, EngineOps, testing::ValuesIn(tests::kPlaces), tests::place_name);

}  // namespace
}  // namespace ronde::comm
