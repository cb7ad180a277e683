#pragma once

#include <vector>

#include <nlohmann/json.hpp>

#include "ronde/bench/bench.h"

namespace ronde::bench::detail {

// Steps in which a trace has every kernel (trace.gpu_steps), here as by default.
inline constexpr int kKernelSteps = 50;

// What the rows of `ronde bench train --device cuda` say about the promises that Ronde makes. Pure.
std::vector<Bar> gpu_bars(const nlohmann::ordered_json& rows);

}  // namespace ronde::bench::detail
