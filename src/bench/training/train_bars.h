#pragma once

#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "ronde/bench/bench.h"

namespace ronde::bench::detail {

// A network and a batch that `ronde bench train` has promises for, and these.
struct TrainCase {
  std::string_view model;
  int batch;
  double efficiency, efficiency_arena;
};
inline constexpr TrainCase kTrainCases[] = {
    {"mlp-wide", 32, 0.95, 0.80},
    {"mlp-wide", 128, 0.95, 0.88},
    {"mlp-deep", 32, 0.92, 0.90},
    {"resnet18-cifar", 32, 0.98, 0.97},
};

// What the rows of `ronde bench train` say about the promises that Ronde makes. Only those that the rows can tell.
// Pure.
std::vector<Bar> train_bars(const nlohmann::ordered_json& rows);

}  // namespace ronde::bench::detail
