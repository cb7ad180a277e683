#pragma once

#include <vector>

#include <nlohmann/json.hpp>

#include "ronde/bench/bench.h"

namespace ronde::bench::detail {

// What the rows of `ronde bench allreduce` say about the promises that Ronde makes for ordinary memory and f32. Only
// those that the rows can tell. Pure.
std::vector<Bar> allreduce_bars(const nlohmann::ordered_json& rows);

}  // namespace ronde::bench::detail
