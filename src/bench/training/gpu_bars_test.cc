#include "ronde/bench/training/gpu_bars.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace ronde::bench::detail {
namespace {

using Json = nlohmann::ordered_json;

TEST(GpuBars, EveryPromiseHasOne) {
  const Json rows =
      Json::array({{{"model", "resnet50"},
                    {"batch", 256},
                    {"step_us", 1000.0},
                    {"alone_us", 1000.0},
                    {"recorded_us", 1020.0},
                    {"traced_us", 1002.0},
                    {"first_step_us", 9e6},
                    {"ratio_python_graph", 1.01},
                    {"ratio_python_eager", 1.2}},
                   {{"model", "resnet50"}, {"batch", 32}, {"step_us", 100.0}, {"ratio_python_eager", 1.5}},
                   {{"model", "resnet18"}, {"batch", 32}, {"step_us", 100.0}}});
  const auto bars = gpu_bars(rows);
  std::vector<std::string> names;
  for (const Bar& bar : bars) names.push_back(bar.key);
  EXPECT_EQ(names,
            (std::vector<std::string>{"over_graph_256", "first_step_256", "engine_256", "trace_256", "over_eager_32"}));
  EXPECT_DOUBLE_EQ(bars[3].value, 1.0029);
  EXPECT_FALSE(bars[3].at_least);
}

TEST(GpuBars, WhatWasNotMeasuredIsNotJudged) {
  EXPECT_TRUE(gpu_bars(Json::array({{{"model", "resnet50"}, {"batch", 64}, {"step_us", 1.0}}})).empty());
  EXPECT_TRUE(
      gpu_bars(Json::array({{{"model", "resnet50"}, {"batch", 256}, {"ratio_python_graph", nullptr}}})).empty());
}

}  // namespace
}  // namespace ronde::bench::detail
