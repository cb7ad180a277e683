#include "ronde/train/gpu/gpu_trace.h"

#include <sstream>

#include <gtest/gtest.h>

#include "ronde/base/system/clock.h"
#include "ronde/base/testing/folder.h"
#include "ronde/device/device.h"
#include "ronde/device/memory.h"
#include "ronde/trace/file/run.h"

namespace ronde {
namespace {

using device::Activity;

std::vector<const trace::Lane*> device_lanes(const trace::Run& run) {
  std::vector<const trace::Lane*> lanes;
  for (const trace::Lane& lane : run.ranks.at(0).lanes)
    if (lane.kind == trace::Lane::Kind::Device) lanes.push_back(&lane);
  return lanes;
}

TEST(GpuSpans, BecomeRowsOfTheDevice) {
  const ronde::tests::Folder folder;
  const std::int64_t now = monotonic_now().count();
  {
    trace::Recorder recorder({.folder = folder.path()});
    GpuSpans spans(recorder);
    const std::vector<Activity> done{{.kind = Activity::Kind::Collective,
                                      .stream = 13,
                                      .begin_ns = now + 50'000,
                                      .end_ns = now + 90'000,
                                      .name = "nccl"},
                                     {.stream = 7, .begin_ns = now + 40'000, .end_ns = now + 60'000, .name = "gemm"},
                                     {.kind = Activity::Kind::Copy,
                                      .stream = 7,
                                      .begin_ns = now,
                                      .end_ns = now + 30'000,
                                      .bytes = 64,
                                      .name = "copy"}};
    spans.add(done);
  }
  const trace::Run run = trace::read_run(folder.path());
  const auto lanes = device_lanes(run);
  ASSERT_EQ(lanes.size(), 2U);
  EXPECT_EQ(lanes[0]->name, "gpu 0 stream 7");
  EXPECT_EQ(lanes[1]->name, "gpu 0 stream 13");
  ASSERT_EQ(lanes[0]->spans.size(), 2U);
  const auto text = [&](std::uint32_t id) { return run.names.text(id); };
  EXPECT_EQ(text(lanes[0]->spans[0].category), "copy");
  EXPECT_EQ(text(lanes[0]->spans[1].category), "kernel");
  EXPECT_EQ(text(lanes[0]->spans[1].name), "gemm");
  EXPECT_EQ(lanes[0]->spans[1].time.length(), 20'000);
  EXPECT_EQ(text(lanes[1]->spans.at(0).category), "collective");
}

// A CUPTI buffer is handed over at once; the smallest memory must not lose any of it.
TEST(GpuSpans, ABurstIsNotDropped) {
  constexpr std::int64_t kSpans = 40'000;
  const ronde::tests::Folder folder;
  {
    trace::Recorder recorder({.folder = folder.path(), .bytes = 1 << 20});
    GpuSpans spans(recorder);
    std::vector<Activity> done(kSpans);
    const std::int64_t now = monotonic_now().count();
    for (std::int64_t i = 0; i < kSpans; ++i) {
      Activity& one = done[static_cast<std::size_t>(i)];
      one = {.kind = Activity::Kind::Copy, .begin_ns = now + 10 * i, .end_ns = now + 10 * i + 9, .name = "copy"};
    }
    spans.add(done);
    EXPECT_EQ(recorder.dropped(), 0U);
  }
  const trace::Run run = trace::read_run(folder.path());
  EXPECT_EQ(device_lanes(run).at(0)->spans.size(), static_cast<std::size_t>(kSpans));
}

TEST(GpuTrace, WhereItCannotBeHadALineSaysWhy) {
  if (device::why_no_activity().empty()) GTEST_SKIP() << "it can be had here";
  const ronde::tests::Folder folder;
  std::ostringstream text;
  trace::Recorder recorder({.folder = folder.path()});
  EXPECT_EQ(GpuTrace::start(recorder, 0, Log({.stream = &text})), nullptr);
  EXPECT_NE(text.str().find("the trace will not show GPU activity: " + device::why_no_activity()), std::string::npos)
      << text.str();
}

TEST(GpuTrace, OnlyStepsOfTheWindowAreSeen) {
  if (const std::string why = device::why_no_activity(); !why.empty()) GTEST_SKIP() << why;
  const ronde::tests::Folder folder;
  const device::Stream stream(0);
  const device::PinnedBuffer host(1 << 20);
  const device::DeviceBuffer there(0, 1 << 20);
  {
    trace::Recorder recorder({.folder = folder.path(), .steps = parse_step_window("2..3")});
    const auto trace = GpuTrace::start(recorder, 0, Log());
    ASSERT_TRUE(trace);
    for (int step = 1; step <= 5; ++step) {
      recorder.step(step);
      device::copy_async(there.data(), host.data(), host.size(), stream);
      stream.synchronize();
    }
    recorder.end_step();
  }
  const trace::Run run = trace::read_run(folder.path());
  const auto lanes = device_lanes(run);
  ASSERT_EQ(lanes.size(), 1U);
  EXPECT_EQ(lanes[0]->spans.size(), 2U);
}

}  // namespace
}  // namespace ronde
