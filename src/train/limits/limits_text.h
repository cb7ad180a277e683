#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "ronde/train/limits.h"

namespace ronde::train {

// For people: memory, speeds, which of them binds, and what model.recompute would change.
std::string to_text(const Limits& limits);

// {"model", "batch", "ranks", "machine", "asked": {"recompute", "parameters", "bytes": {...}, "largest_batch",
// "speeds":
// [...], "binding"}, "other": ... or null}; bytes and samples/s are numbers of one rank.
nlohmann::ordered_json to_json(const Limits& limits);

// "12.3 MiB", of an amount that was computed.
std::string bytes_text(double bytes);

}  // namespace ronde::train
