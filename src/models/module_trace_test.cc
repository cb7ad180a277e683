#include "ronde/models/module_trace.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "ronde/base/testing/folder.h"
#include "ronde/models/costs.h"
#include "ronde/models/model.h"
#include "ronde/trace/file/run.h"
#include "ronde/trace/span.h"

namespace ronde::models {
namespace {

using Direction = ModuleTrace::Direction;
using trace::Lane;
using trace::LaneSpan;

// What one training pass of a network left in its trace.
class Traced {
 public:
  Traced(const ModelOptions& model, ModuleTraceOptions options, bool with_foreign_span = false) {
    torch::set_num_threads(1);
    torch::manual_seed(0);
    const auto network = make_model(model);
    costs_ = costs(*network, {model.channels, model.height, model.width}, 2);
    {
      trace::Recorder recorder({.folder = folder_.path()});
      const trace::Scope scope(recorder, "training");
      ModuleTrace modules(*network, recorder, options);
      torch::Tensor output;
      {
        RONDE_SPAN("forward");
        const ModuleTrace::Pass pass(&modules, Direction::Forward);
        output = network->forward(torch::randn({2, model.channels, model.height, model.width}));
        if (with_foreign_span) {
          RONDE_SPAN("foreign");
          output = network->forward(torch::randn({2, model.channels, model.height, model.width}));
        }
      }
      RONDE_SPAN("backward");
      const ModuleTrace::Pass pass(&modules, Direction::Backward);
      output.sum().backward();
    }
    run_ = trace::read_run(folder_.path());
  }

  const Lane& lane() const { return *run_.ranks.at(0).training(); }
  const std::string& name(const LaneSpan& span) const { return run_.names.text(span.name); }
  std::string category(const LaneSpan& span) const { return run_.names.text(span.category); }
  const std::vector<LayerCost>& layers() const { return costs_; }

  // "forward", "layer1", "layer1.0" of "layer1.0.conv1"
  std::vector<std::string> above(const LaneSpan& span) const {
    std::vector<std::string> names;
    for (auto at = span.parent; at != LaneSpan::kNone; at = lane().spans[static_cast<std::size_t>(at)].parent)
      names.insert(names.begin(), name(lane().spans[static_cast<std::size_t>(at)]));
    return names;
  }
  // Names of a category whose outermost span is `pass`.
  std::set<std::string> inside(const std::string& pass, const std::string& wanted) const {
    std::set<std::string> names;
    for (const LaneSpan& span : lane().spans)
      if (category(span) == wanted && !above(span).empty() && above(span).front() == pass) names.insert(name(span));
    return names;
  }

 private:
  const ronde::tests::Folder folder_;
  std::vector<LayerCost> costs_;
  trace::Run run_;
};

const ModelOptions kSmall{.name = "resnet20", .height = 16, .width = 16, .filters = 4};

std::set<std::string> layers_with_weights(const Traced& traced) {
  std::set<std::string> names;
  for (const LayerCost& layer : traced.layers())
    if (layer.parameters > 0) names.insert(layer.name);
  return names;
}

TEST(ModuleTrace, EveryLayerHasASpanInBothPassesUnderItsModules) {
  const Traced traced(kSmall, {.modules = true});
  const auto forward = traced.inside("forward", "module"), backward = traced.inside("backward", "module");
  for (const LayerCost& layer : traced.layers()) EXPECT_TRUE(forward.contains(layer.name)) << layer.name;
  for (const std::string& layer : layers_with_weights(traced)) EXPECT_TRUE(backward.contains(layer)) << layer;
  for (const LaneSpan& span : traced.lane().spans) {
    if (traced.name(span) != "layer2.1.conv1") continue;
    const auto above = traced.above(span);
    ASSERT_EQ(above.size(), 3U);
    EXPECT_EQ(above[1], "layer2");
    EXPECT_EQ(above[2], "layer2.1");
  }
  EXPECT_TRUE(traced.inside("forward", "operator").empty()) << "not asked for";
}

// The last layer of the network is the first of its backward pass.
TEST(ModuleTrace, TheBackwardPassGoesTheOtherWay) {
  const Traced traced(kSmall, {.modules = true});
  std::map<std::string, std::vector<std::string>> order;
  for (const LaneSpan& span : traced.lane().spans) {
    const auto above = traced.above(span);
    if (above.size() == 1 && traced.name(span).starts_with("layer")) order[above.front()].push_back(traced.name(span));
  }
  const auto once = [](std::vector<std::string> names) {
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
  };
  EXPECT_EQ(once(order["forward"]), (std::vector<std::string>{"layer1", "layer2", "layer3"}));
  EXPECT_EQ(once(order["backward"]), (std::vector<std::string>{"layer3", "layer2", "layer1"}));
}

TEST(ModuleTrace, WhatIsRecomputedIsSeenAgainInTheBackwardPass) {
  ModelOptions model = kSmall;
  model.recompute = true;
  const Traced traced(model, {.modules = true});
  const auto forward = traced.inside("forward", "module"), backward = traced.inside("backward", "module");
  for (const std::string& layer : layers_with_weights(traced)) {
    EXPECT_TRUE(forward.contains(layer)) << layer;
    EXPECT_TRUE(backward.contains(layer)) << layer;
  }
}

TEST(ModuleTrace, OperatorsAreThoseThatTheNetworkCalls) {
  const Traced traced(kSmall, {.operators = true});
  const auto forward = traced.inside("forward", "operator"), backward = traced.inside("backward", "operator");
  EXPECT_TRUE(forward.contains("conv2d") && forward.contains("batch_norm"));
  EXPECT_FALSE(forward.contains("_convolution")) << "what conv2d is made of";
  EXPECT_TRUE(backward.contains("convolution_backward"));
  EXPECT_TRUE(traced.inside("forward", "module").empty());
  for (const LaneSpan& span : traced.lane().spans)
    if (traced.category(span) == "operator" && span.parent != LaneSpan::kNone) {
      EXPECT_NE(traced.category(traced.lane().spans[static_cast<std::size_t>(span.parent)]), "operator");
    }
}

TEST(ModuleTrace, OperatorsLieInTheirModules) {
  const Traced traced(kSmall, {.modules = true, .operators = true});
  int convolutions = 0;
  for (const LaneSpan& span : traced.lane().spans) {
    if (traced.name(span) != "conv2d" || traced.category(span) != "operator") continue;
    ++convolutions;
    EXPECT_NE(traced.above(span).back().find("conv"), std::string::npos) << traced.above(span).back();
  }
  EXPECT_EQ(convolutions, 19);
}

// A span that the program has put around operations of a pass keeps its place.
TEST(ModuleTrace, SpansOfOthersStayWhole) {
  const Traced traced(kSmall, {.modules = true}, true);
  for (const LaneSpan& span : traced.lane().spans) {
    const auto above = traced.above(span);
    EXPECT_TRUE(std::ranges::find(above, "foreign") == above.end()) << traced.name(span);
    if (traced.name(span) == "foreign") {
      EXPECT_EQ(above.front(), "forward");
    }
  }
  EXPECT_TRUE(traced.inside("backward", "module").contains("layer1.0.conv1"));
}

}  // namespace
}  // namespace ronde::models
