#include "ronde/report/compute/devices.h"

#include <gtest/gtest.h>

#include "ronde/report/json/report_json.h"
#include "ronde/report/report.h"
#include "ronde/report/testing/make_run.h"
#include "ronde/report/text/text.h"

namespace ronde::report {
namespace {

// Rank 0's device computes 60 of 100, is in a collective for 40, 10 of it beside the computing, and copies 5 of what is
// left; rank 1 has none.
trace::Run made_run() {
  testing::MakeRun make(2);
  for (int rank = 0; rank < 2; ++rank) {
    make.step(rank, 0, 0, 100);
    make.span(rank, "training", "forward", 0, 100);
  }
  make.span(0, "gpu 0 stream 7", "gemm", 0, 40, "kernel");
  make.span(0, "gpu 0 stream 7", "gemm", 40, 60, "kernel");
  make.span(0, "gpu 0 stream 9", "nccl", 50, 90, "collective");
  make.span(0, "gpu 0 stream 11", "copy host to device", 92, 97, "copy");
  make.span(0, "gpu 0 stream 11", "copy host to device", 120, 130, "copy");  // after the last step
  return make.take();
}

TEST(Devices, TimeIsSplitByWhatTheyDid) {
  const trace::Run run = made_run();
  Window window = window_of(run);
  window.ranks = {{0, 100}, {0, 100}};
  const auto all = devices_of(run, window);
  ASSERT_EQ(all.size(), 1U) << "only ranks with rows of a device";
  const DeviceUse& use = all[0];
  EXPECT_EQ(use.rank, 0);
  EXPECT_EQ(use.host, "node0");
  EXPECT_NEAR(use.computing, 60e-9, 1e-12);
  EXPECT_NEAR(use.collectives, 40e-9, 1e-12);
  EXPECT_NEAR(use.copies, 5e-9, 1e-12);
  EXPECT_NEAR(use.busy, 95e-9, 1e-12);
  EXPECT_NEAR(use.idle(), 5e-9, 1e-12);
}

TEST(Devices, WhereTheirRecordingEndedEarlierTheRestDoesNotCount) {
  trace::Run run = made_run();
  run.ranks[0].lanes.pop_back();  // copies: kernels and collectives end at 90
  run.ranks[0].metadata["gpu steps"] = "1";
  Window window = window_of(run);
  window.ranks = {{0, 180}, {0, 180}};
  window.time = {0, 180};
  EXPECT_EQ(recorded_of_device(run.ranks[0], window.ranks[0]), (TimeRange{0, 90}));
  EXPECT_EQ(recorded_of_device(run.ranks[1], window.ranks[1]), (TimeRange{0, 180}));
  const auto all = devices_of(run, window);
  EXPECT_NEAR(all.at(0).seconds, 90e-9, 1e-12);
  EXPECT_NEAR(all.at(0).idle(), 0, 1e-12);
}

TEST(Devices, StepsInWhichKernelsAreChosenDoNotCount) {
  trace::Run run = made_run();
  run.ranks[0].steps.clear();
  for (std::int64_t i = 0; i < 8; ++i) run.ranks[0].steps.push_back({.number = i + 1, .time = {10 * i, 10 * i + 10}});
  EXPECT_EQ(recorded_of_device(run.ranks[0], {0, 180}).begin, 40);
  EXPECT_EQ(recorded_of_device(run.ranks[0], {60, 180}).begin, 60);
  for (trace::TracedStep& step : run.ranks[0].steps) step.time = {100 * step.number, 100 * step.number + 100};
  EXPECT_EQ(recorded_of_device(run.ranks[0], {0, 900}).begin, 0) << "there are no others";
}

TEST(Devices, TheTextHasARowForEach) {
  const trace::Run run = made_run();
  Window window = window_of(run);
  window.ranks = {{0, 100}, {0, 100}};
  const Report report{.devices = devices_of(run, window)};
  EXPECT_NEAR(to_json(report)["devices"][0]["idle"].get<double>(), 5e-9, 1e-12);
  const std::string text = text_report(report, false);
  EXPECT_NE(text.find("What the devices do"), std::string::npos) << text;
  EXPECT_NE(text.find("rank  host   busy  computing  collectives  copies  idle"), std::string::npos) << text;
  EXPECT_NE(text.find("   0  node0  95 %       60 %         40 %     5 %   5 %"), std::string::npos) << text;
}

}  // namespace
}  // namespace ronde::report
