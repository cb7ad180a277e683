#include <chrono>
#include <mutex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/base/system/clock.h"
#include "ronde/device/activity.h"
#include "ronde/device/cuda/check.h"
#include "ronde/device/memory.h"
#include "ronde/device/stream.h"

// What only a GPU can show.
namespace ronde::device {
namespace {

constexpr std::size_t kBytes = std::size_t{16} << 20;

struct Done {
  Activity activity;
  std::string name;  // the recorder's own is gone when we look
};

class GpuActivity : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = why_no_activity(); !why.empty()) GTEST_SKIP() << why;
    Stream(0).synchronize();
    began_ = monotonic_now().count();
  }

  // What GPUs did for `work`, which must wait for them.
  template <class Work>
  std::vector<Done> record(Work work) {
    std::vector<Done> all;
    {
      ActivityRecorder recorder([&](std::span<const Activity> done) {
        for (const Activity& one : done) all.push_back({one, std::string(one.name)});
      });
      work(recorder);
      lost_ = recorder.dropped();
    }
    return all;
  }

  static std::vector<Activity> named(const std::vector<Done>& all, std::string_view name) {
    std::vector<Activity> found;
    for (const Done& one : all)
      if (one.name == name) found.push_back(one.activity);
    return found;
  }

  void expect_plausible(const Activity& activity) const {
    EXPECT_EQ(activity.device, 0);
    EXPECT_GE(activity.begin_ns, began_ - 1'000'000) << "CUPTI aligns clocks to less than a millisecond";
    EXPECT_GT(activity.end_ns, activity.begin_ns);
    EXPECT_LE(activity.end_ns, monotonic_now().count() + 1'000'000);
  }

  std::int64_t began_ = 0;
  std::uint64_t lost_ = 0;
};

TEST_F(GpuActivity, CopiesAreSeenWithTheirBytesAndTimes) {
  const Stream stream(0);
  const PinnedBuffer host(kBytes);
  const DeviceBuffer first(0, kBytes);
  const DeviceBuffer second(0, kBytes);
  const auto all = record([&](ActivityRecorder&) {
    for (int i = 0; i < 3; ++i) copy_async(first.data(), host.data(), kBytes, stream);
    copy_async(second.data(), first.data(), kBytes / 2, stream);
    copy_async(host.data(), second.data(), kBytes / 4, stream);
    stream.synchronize();
  });
  EXPECT_EQ(lost_, 0U);
  const auto up = named(all, "copy host to device");
  const auto inside = named(all, "copy inside device");
  const auto down = named(all, "copy device to host");
  ASSERT_EQ(up.size(), 3U);
  ASSERT_EQ(inside.size(), 1U);
  ASSERT_EQ(down.size(), 1U);
  EXPECT_EQ(inside[0].bytes, kBytes / 2);
  EXPECT_EQ(down[0].bytes, kBytes / 4);
  for (const Activity& copy : up) {
    expect_plausible(copy);
    EXPECT_EQ(copy.kind, Activity::Kind::Copy);
    EXPECT_EQ(copy.bytes, kBytes);
    EXPECT_EQ(copy.stream, up[0].stream);
    EXPECT_LT(copy.end_ns - copy.begin_ns, 1'000'000'000);
  }
  EXPECT_GE(inside[0].begin_ns, up[2].end_ns - 1'000) << "one stream does one thing after the other";
}

TEST_F(GpuActivity, NothingIsRecordedWhileItIsOff) {
  const Stream stream(0);
  const PinnedBuffer host(kBytes);
  const DeviceBuffer there(0, kBytes);
  const auto all = record([&](ActivityRecorder& recorder) {
    recorder.set_on(false);
    copy_async(there.data(), host.data(), kBytes, stream);
    stream.synchronize();
    recorder.set_on(true);
    copy_async(there.data(), host.data(), kBytes / 2, stream);
    stream.synchronize();
  });
  const auto up = named(all, "copy host to device");
  ASSERT_EQ(up.size(), 1U);
  EXPECT_EQ(up[0].bytes, kBytes / 2);
}

TEST_F(GpuActivity, PartsOfAGraphAreSeenOneByOne) {
  const Stream stream(0);
  const PinnedBuffer host(kBytes);
  const DeviceBuffer there(0, kBytes);
  const auto all = record([&](ActivityRecorder&) {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t ready = nullptr;
    check(cudaStreamBeginCapture(stream.native(), cudaStreamCaptureModeThreadLocal), "capturing");
    check(cudaMemsetAsync(there.data(), 0, kBytes, stream.native()), "filling");
    copy_async(there.data(), host.data(), kBytes, stream);
    check(cudaMemsetAsync(there.data(), 1, kBytes / 2, stream.native()), "filling");
    check(cudaStreamEndCapture(stream.native(), &graph), "capturing");
    check(cudaGraphInstantiate(&ready, graph, 0), "making a graph");
    for (int i = 0; i < 2; ++i) check(cudaGraphLaunch(ready, stream.native()), "launching a graph");
    stream.synchronize();
    check(cudaGraphExecDestroy(ready), "destroying a graph");
    check(cudaGraphDestroy(graph), "destroying a graph");
  });
  EXPECT_EQ(named(all, "fill").size(), 4U);
  ASSERT_EQ(named(all, "copy host to device").size(), 2U);
  for (const Activity& copy : named(all, "copy host to device")) expect_plausible(copy);
}

TEST_F(GpuActivity, ThereIsOneAtATimeAndAnotherAfterIt) {
  record([&](ActivityRecorder&) {
    try {
      ActivityRecorder second([](std::span<const Activity>) {});
      ADD_FAILURE() << "CUPTI has one subscriber";
    } catch (const Error& error) {
      EXPECT_NE(error.message().find("active in this process"), std::string::npos) << error.message();
    }
  });
  const Stream stream(0);
  const PinnedBuffer host(kBytes);
  const DeviceBuffer there(0, kBytes);
  const auto all = record([&](ActivityRecorder&) {
    copy_async(there.data(), host.data(), kBytes, stream);
    stream.synchronize();
  });
  EXPECT_EQ(named(all, "copy host to device").size(), 1U);
}

}  // namespace
}  // namespace ronde::device
