#include <array>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "ronde/base/text/format.h"
#include "ronde/comm/testing/failures.h"
#include "ronde/comm/testing/pending.h"
#include "ronde/comm/testing/ranks.h"
#include "ronde/comm/testing/requests.h"
#include "ronde/comm/testing/thread_gpus.h"

// Buffers of GPUs: every operation and type, in three ways: host memory that is treated as a GPU's and goes through the
// host's, so that all but the copies is tried everywhere; the same by a stand-in for NCCL; and memory of GPU 0, which
// all ranks then share.
namespace ronde::comm {
namespace {

using tests::Call;
using tests::every_call;
using tests::expect_none;
using tests::kAllDTypes;
using tests::kAllOperations;
using tests::run_calls;
using tests::run_watched;

constexpr int kHost = device::kHost;

struct Where {
  tests::Place place;
  int gpu = kHost;
  bool by_stand_in = false;
};

void PrintTo(const Where& where, std::ostream* out) {
  *out << tests::name_of(where.place) << (where.gpu == kHost ? "" : "Gpu") << (where.by_stand_in ? "StandIn" : "");
}

class EngineDevice : public testing::TestWithParam<Where> {
 protected:
  void SetUp() override {
    if (gpu() != kHost && device::count() == 0) GTEST_SKIP() << device::why_none();
  }
  int gpu() const { return GetParam().gpu; }
  int ranks() const { return GetParam().place.ranks; }
  void run(const std::function<void(Engine&)>& body) const {
    const auto stand_in = GetParam().by_stand_in ? std::make_shared<tests::ThreadGpus>() : nullptr;
    run_watched(GetParam().place, body, {}, {.stage_host = gpu() == kHost, .nccl = stand_in, .stage_bytes = 64 << 10});
    if (!stand_in) return;
    EXPECT_GT(stand_in->calls(), 0);
    EXPECT_EQ(stand_in->links(), 0) << "they are left behind";
  }
};

TEST_P(EngineDevice, EveryOperationAndTypeGivesWhatTheReferenceGives) {
  run([&](Engine& engine) {
    for (const Operation operation : kAllOperations)
      for (const DType dtype : kAllDTypes)
        expect_none(run_calls(engine, engine.world(), every_call(operation, dtype, ranks()),
                              {.seed = 1 + static_cast<std::uint64_t>(dtype), .gpu = gpu()}));
    engine.world().barrier().wait();
  });
}

TEST_P(EngineDevice, Grouped) {
  run([&](Engine& engine) {
    for (const DType dtype : {DType::BF16, DType::F32, DType::I64})
      expect_none(run_calls(engine, engine.world(), every_call(Operation::Allreduce, dtype, ranks()),
                            {.grouped = true, .gpu = gpu()}));
  });
}

// More than a chunk, and tensors that no chunk ends with.
TEST_P(EngineDevice, BucketsOfManyChunks) {
  constexpr std::int64_t count = 50'001;
  std::vector<Call> calls;
  for (int i = 0; i < 4; ++i)
    calls.push_back({.name = fmt::format("large {}", i), .shape = {count + 7 * i}, .op = ReduceOp::Average});
  calls.push_back(
      {.name = "compressed", .shape = {count}, .compression = Compression::BF16, .values = tests::Values::Small});
  run([&](Engine& engine) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed)  // the third time by a plan
      expect_none(run_calls(engine, engine.world(), calls, {.seed = seed, .gpu = gpu()}));
  });
}

TEST_P(EngineDevice, AMemberThatHasJoinedGivesZeros) {
  if (ranks() == 1) GTEST_SKIP() << "nobody is left when one of one has joined";
  run([&](Engine& engine) {
    if (engine.rank() == 0) {
      engine.world().join().wait();
      return;
    }
    Call call{.name = "w", .shape = {1000}, .joined = {0}};
    expect_none(run_calls(engine, engine.world(), {call}, {.gpu = gpu()}));
    engine.world().join().wait();
  });
}

// Its own request and another's travel in one bucket.
TEST_P(EngineDevice, AMemberMayHaveSomeOfABucketAndHaveJoined) {
  if (ranks() == 1) GTEST_SKIP() << "nobody is left when one of one has joined";
  run([&](Engine& engine) {
    Call first{.name = "first", .shape = {20'003}}, second{.name = "second", .shape = {30'001}, .joined = {0}};
    Call third{.name = "third", .shape = {7}, .joined = {0}};
    if (engine.rank() == 0) {
      tests::Pending mine(engine, engine.world(), first, tests::Placement{}.on(gpu()));
      mine.on_its_way(engine.world().submit(mine.request()));
      const Handle joined = engine.world().join();
      EXPECT_EQ(mine.check(), "");
      joined.wait();
      return;
    }
    expect_none(run_calls(engine, engine.world(), {second, first, third}, {.gpu = gpu()}));
    engine.world().join().wait();
  });
}

// What is submitted together may be of different kinds, on the host and not.
TEST_P(EngineDevice, TogetherWithOthers) {
  run([&](Engine& engine) {
    std::vector<float> here(100, 1.0F);
    std::vector<Call> calls{{.name = "sum", .shape = {50}},
                            {.name = "half", .dtype = DType::F16, .shape = {60}},
                            {.operation = Operation::Broadcast, .name = "root", .shape = {40}}};
    std::vector<std::unique_ptr<tests::Pending>> pending;
    std::vector<Request> requests{{.name = "here", .input = buffer_of(here)}};
    for (const Call& call : calls) {
      pending.push_back(std::make_unique<tests::Pending>(engine, engine.world(), call, tests::Placement{}.on(gpu())));
      requests.push_back(pending.back()->request());
    }
    const auto handles = engine.world().submit(std::move(requests));
    for (std::size_t i = 0; i < pending.size(); ++i) {
      pending[i]->on_its_way(handles[i + 1]);
      EXPECT_EQ(pending[i]->check(), "");
    }
    handles[0].wait();
    EXPECT_EQ(here[99], static_cast<float>(engine.size()));
  });
}

INSTANTIATE_TEST_SUITE_P(All, EngineDevice,
                         testing::Values(Where{{1}}, Where{{2}}, Where{{4}}, Where{{4, 2}}, Where{{1}, 0},
                                         Where{{2}, 0}, Where{{4}, 0}, Where{{1}, kHost, true}, Where{{2}, kHost, true},
                                         Where{{4}, kHost, true}),
                         testing::PrintToStringParamName());

// What the stream makes before a request, and sees after it, without anybody waiting on the host.
TEST(EngineGpu, RequestsFollowTheirStream) {
  if (device::count() == 0) GTEST_SKIP() << device::why_none();
  run_watched(2, [](Engine& engine) {
    constexpr std::size_t kCount = 1 << 20;
    const device::Stream stream(0);
    const device::DeviceBuffer values(0, kCount * sizeof(float)), after(0, kCount * sizeof(float));
    const device::PinnedBuffer from(values.size()), back(values.size());
    auto* const numbers = reinterpret_cast<float*>(from.data());
    for (int round = 0; round < 5; ++round) {
      std::iota(numbers, numbers + kCount, static_cast<float>(engine.rank()));
      for (int i = 0; i < 20; ++i)  // so that it is still at work when the request is handed over
        device::copy_async(after.data(), from.data(), from.size(), stream);
      device::copy_async(values.data(), after.data(), values.size(), stream);
      const Handle handle = engine.world().submit({.name = "values",
                                                   .input = {.data = values.data(), .shape = {kCount}, .device = 0},
                                                   .stream = stream.native()});
      handle.wait();
      device::copy_async(back.data(), values.data(), values.size(), stream);
      stream.synchronize();
      const auto* const sums = reinterpret_cast<const float*>(back.data());
      for (std::size_t i = 0; i < kCount; i += 1001) ASSERT_EQ(sums[i], 2 * static_cast<float>(i) + 1) << round;
    }
  });
}

TEST(EngineGpu, MembersThatDisagreeAboutWhereSaySo) {
  if (device::count() == 0) GTEST_SKIP() << device::why_none();
  run_watched(2, [](Engine& engine) {
    std::vector<float> here(10);
    const device::DeviceBuffer there(0, 40);
    Request request{.name = "w", .input = buffer_of(here)};
    if (engine.rank() == 1) request.input = {.data = there.data(), .shape = {10}, .device = 0};
    const auto error = tests::failure_of(engine.world().submit(std::move(request)));
    ASSERT_TRUE(error);
    EXPECT_NE(error->message().find("rank 1: allreduce (sum) of f32 [10] on a GPU"), std::string::npos)
        << error->message();
  });
}

}  // namespace
}  // namespace ronde::comm
