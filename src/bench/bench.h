#pragma once

#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace ronde::bench {

// What a benchmark found: one JSON object a row, all with the same keys in the same order. By convention times end in
// _us, sizes are "bytes", and ratios are "ratio_PEER" (above 1: we are faster).
struct Report {
  std::string name;
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
};

struct Benchmark {
  std::string_view name;
  std::string_view help;
  Report (*run)();
};

std::span<const Benchmark> all();

// FAILS WITH: BadInput for a name that is none of them.
const Benchmark& find(std::string_view name);

// {"bench": name, "version": 1, "host": {...}, "rows": [...]}
nlohmann::ordered_json to_json(const Report& report);

// A table for people, the keys as titles.
std::string to_text(const Report& report);

}  // namespace ronde::bench
