#include "ronde/trace/span_names.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "ronde/base/testing/folder.h"
#include "ronde/trace/fact_names.h"
#include "ronde/trace/file/run.h"
#include "ronde/trace/span.h"

namespace ronde::trace {
namespace {

using namespace span_names;

// What traces have held since they were first written, and what docs/report.md and viewers' settings call them.
TEST(SpanNames, AreThoseOfTheFileFormat) {
  const std::vector<std::pair<std::string_view, std::string_view>> names = {
      {kWaitForInput, "wait for input"},
      {kWaitForCommunication, "wait for communication"},
      {kWaitForDevice, "wait for device"},
      {kWaitForRoom, "wait for room"},
      {kWaitForPeers, "wait for peers"},
      {kWaitForReady, "wait for ready"},
      {kVote, "vote"},
      {kNegotiate, "negotiate"},
      {kForward, "forward"},
      {kBackward, "backward"},
      {kSynchronize, "synchronize"},
      {kOptimizer, "optimizer"},
      {kLaunchStep, "launch step"},
      {kRecordStep, "record step"},
      {kEvaluate, "evaluate"},
      {kLoad, "load"},
      {kSave, "checkpoint copy"},
      {kWaitForSaving, "checkpoint wait"},
      {counter_names::kMemory, "memory in use"},
      {counter_names::kDeviceMemory, "device memory in use"},
      {kFailure, "failure"},
      {category_names::kKernel, "kernel"},
      {category_names::kCollective, "collective"},
      {category_names::kCopy, "copy"},
      {category_names::kModule, "module"},
      {category_names::kOperator, "operator"},
      {counter_names::kCoreClock, "core clock"},
      {metadata_names::kJob, "job"},
      {metadata_names::kLayers, "layers"},
      {metadata_names::kRankFacts, "rank facts"},
      {metadata_names::kInputStages, "input stages"},
      {metadata_names::kMachineRates, "machine rates"},
      {metadata_names::kGpuSteps, "gpu steps"}};
  for (const auto& [constant, documented] : names) EXPECT_EQ(constant, documented);
}

TEST(SpanNames, WhatIsRecordedByThemIsFoundByThem) {
  const tests::Folder folder;
  {
    Recorder recorder({.folder = folder.path()});
    const Scope scope(recorder, "training");
    RONDE_SPAN(kForward);
    const Span wait(kWaitForCommunication, "wait");
  }
  const trace::Run run = read_run(folder.path());
  ASSERT_NE(run.ranks.at(0).training(), nullptr);
  EXPECT_EQ(run.ranks[0].training()->spans.size(), 2U);
  EXPECT_TRUE(run.names.find(kForward));
  EXPECT_TRUE(run.names.find(kWaitForCommunication));
  EXPECT_FALSE(run.names.find(kBackward));
}

}  // namespace
}  // namespace ronde::trace
