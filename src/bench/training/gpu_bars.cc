#include "ronde/bench/training/gpu_bars.h"

#include <optional>

#include "ronde/base/text/format.h"

namespace ronde::bench::detail {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kLarge = 256, kSmall = 32;
constexpr double kOverGraph = 1.0, kOverEager = 1.3, kMostCost = 1.01, kFirstStepUs = 10e6;

std::optional<double> number(const Json& row, const char* key) {
  if (!row.contains(key) || !row.at(key).is_number()) return {};
  return row.at(key).get<double>();
}

}  // namespace

std::vector<Bar> gpu_bars(const Json& rows) {
  std::vector<Bar> bars;
  for (const Json& row : rows) {
    if (row.at("model") != "resnet50") continue;
    const int batch = row.at("batch");
    const auto add = [&](const char* name, const char* words, std::optional<double> value, double bar, bool at_least) {
      if (value)
        bars.push_back({fmt::format("{}_{}", name, batch), fmt::format("ResNet-50 at {}: {}", batch, words), *value,
                        bar, at_least});
    };
    const auto ours = number(row, "step_us"), alone = number(row, "alone_us");
    const auto recorded = number(row, "recorded_us"), traced = number(row, "traced_us");
    if (batch == kLarge) {
      add("over_graph", "torch's graph in Python over ours", number(row, "ratio_python_graph"), kOverGraph, true);
      add("first_step", "time until the first step is done", number(row, "first_step_us"), kFirstStepUs, false);
    }
    if (batch == kSmall)
      add("over_eager", "torch in Python over ours", number(row, "ratio_python_eager"), kOverEager, true);
    if (ours && alone) add("engine", "with an engine over without", *ours / *alone, kMostCost, false);
    if (ours && recorded && traced)
      add("trace", "1,000 steps with a trace over as many without",
          (*recorded * kKernelSteps + *traced * (1000 - kKernelSteps)) / (1000 * *ours), kMostCost, false);
  }
  return bars;
}

}  // namespace ronde::bench::detail
