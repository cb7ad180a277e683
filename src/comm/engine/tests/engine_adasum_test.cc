#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "ronde/base/text/format.h"
#include "ronde/comm/testing/pending.h"
#include "ronde/comm/testing/ranks.h"
#include "ronde/comm/testing/requests.h"

// Adasum through the whole engine, against a tree of pairs in f64.
namespace ronde::comm {
namespace {

using tests::Call;
using tests::expect_none;
using tests::run_calls;
using tests::run_watched;

const AllreduceOptions kAdasum{.op = ReduceOp::Adasum};

class EngineAdasum : public testing::TestWithParam<tests::Place> {
 protected:
  const tests::Place& place() const { return GetParam(); }
  int ranks() const { return place().ranks; }
};

std::vector<Call> adasum_calls(int ranks) {
  std::vector<Call> calls;
  for (const DType dtype : tests::kFloatDTypes)
    for (const Call& call : tests::every_call(Operation::Allreduce, dtype, ranks))
      if (call.op == ReduceOp::Adasum) calls.push_back(call);
  return calls;
}

TEST_P(EngineAdasum, GivesWhatTheReferenceGives) {
  run_watched(place(), [&](Engine& engine) {
    std::vector<Call> calls = adasum_calls(ranks());
    for (std::uint64_t step = 0; step < 4; ++step)  // the last ones by a plan
      expect_none(run_calls(engine, engine.world(), calls, {.seed = step + 1}));
    expect_none(run_calls(engine, engine.world(), calls, {.grouped = true}));
    for (Call& call : calls) call.name.clear();
    expect_none(run_calls(engine, engine.world(), calls));
  });
}

TEST_P(EngineAdasum, EqualVectorsGiveTheVectorAndOrthogonalOnesTheSum) {
  run_watched(place(), [&](Engine& engine) {
    std::vector<double> equal(1000), orthogonal(5000, 0.0);
    for (std::size_t i = 0; i < equal.size(); ++i) equal[i] = static_cast<double>(i) - 300;
    const std::vector<double> before = equal;
    for (std::size_t i = 0; i < orthogonal.size(); ++i)
      if (static_cast<int>(i) % ranks() == engine.rank()) orthogonal[i] = static_cast<double>(i + 1);
    const Handle first = engine.world().allreduce("equal", buffer_of(equal), kAdasum);
    engine.world().allreduce("orthogonal", buffer_of(orthogonal), kAdasum).wait();
    first.wait();
    EXPECT_EQ(equal, before);
    for (std::size_t i = 0; i < orthogonal.size(); ++i) EXPECT_EQ(orthogonal[i], static_cast<double>(i + 1));
  });
}

std::vector<std::vector<float>> inputs_of(int rank) {
  std::vector<std::vector<float>> inputs;
  for (const std::size_t length : {3u, 700u, 9000u, 41u, 2500u, 20'000u}) {
    inputs.emplace_back(length);
    tests::Random random({length, static_cast<std::uint64_t>(rank)});
    for (float& value : inputs.back()) value = static_cast<float>(random.below(2001)) / 1000 - 1;
  }
  return inputs;
}

// Whatever travels together, and on whichever rank one looks.
TEST_P(EngineAdasum, TheSameBitsEverywhereAndHoweverItIsFused) {
  std::vector<std::vector<std::vector<float>>> results;
  for (const std::size_t fusion_bytes : {0u, 30'000u, 1u << 20}) {
    results.emplace_back();
    run_watched(
        place(),
        [&](Engine& engine) {
          auto values = inputs_of(engine.rank());
          std::vector<Request> requests;
          for (std::size_t i = 0; i < values.size(); ++i)
            requests.push_back({.name = fmt::format("{}", i), .input = buffer_of(values[i]), .op = ReduceOp::Adasum});
          std::vector<Handle> handles;
          if (fusion_bytes > 100'000) {
            handles = engine.world().submit(std::move(requests));
          } else {
            for (Request& request : requests) handles.push_back(engine.world().submit(std::move(request)));
          }
          for (const Handle& handle : handles) handle.wait();
          if (engine.rank() == 0) results.back() = values;
          // Compared with those of rank 0, bit by bit.
          for (std::size_t i = 0; i < values.size(); ++i) {
            std::vector<float> first = values[i];
            engine.world().broadcast(fmt::format("first {}", i), buffer_of(first), 0).wait();
            EXPECT_EQ(std::memcmp(first.data(), values[i].data(), first.size() * sizeof(float)), 0);
          }
        },
        {.fusion_bytes = fusion_bytes, .first_bucket_bytes = fusion_bytes});
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

// So many that the sums between steps are themselves worth cutting.
TEST(EngineAdasumFused, HundredsOfLongTensorsAtOnceAsOneByOne) {
  constexpr int kRanks = 8;
  constexpr std::size_t kTensors = 400, kLength = 256 * kRanks;
  run_watched(kRanks, [&](Engine& engine) {
    std::vector<std::vector<float>> fused(kTensors, std::vector<float>(kLength));
    tests::Random random({static_cast<std::uint64_t>(engine.rank())});
    for (auto& tensor : fused)
      for (float& value : tensor) value = static_cast<float>(random.below(2001)) / 1000 - 1;
    auto alone = fused;
    std::vector<Request> requests;
    for (std::size_t i = 0; i < kTensors; ++i)
      requests.push_back({.name = fmt::format("{}", i), .input = buffer_of(fused[i]), .op = ReduceOp::Adasum});
    for (const Handle& handle : engine.world().submit(std::move(requests))) handle.wait();
    for (std::size_t i = 0; i < kTensors; ++i) engine.world().allreduce("alone", buffer_of(alone[i]), kAdasum).wait();
    EXPECT_EQ(fused, alone);
  });
}

TEST_P(EngineAdasum, WhoHasJoinedIsAVectorOfZeros) {
  run_watched(place(), [&](Engine& engine) {
    for (int round = 0; round <= engine.rank(); ++round) {
      std::vector<Call> calls = adasum_calls(ranks());
      for (Call& call : calls)
        for (int member = 0; member < round; ++member) call.joined.push_back(member);
      expect_none(run_calls(engine, engine.world(), calls, {.seed = 2}));
    }
    EXPECT_GE(engine.world().join().wait().last_joined, 0);
  });
}

TEST_P(EngineAdasum, ASlowLinkAndSmallBuckets) {
  run_watched(place(), [&](Engine& engine) { expect_none(run_calls(engine, engine.world(), adasum_calls(ranks()))); },
              {.fusion_bytes = 4096, .first_bucket_bytes = 64}, {.link_delay = std::chrono::microseconds(100)});
}

INSTANTIATE_TEST_SUITE_P(All, EngineAdasum, testing::ValuesIn(tests::kPlaces), tests::place_name);

}  // namespace
}  // namespace ronde::comm
