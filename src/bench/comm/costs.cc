#include "ronde/bench/comm/costs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "ronde/base/math/cost_fit.h"
#include "ronde/bench/comm/cost_model.h"

namespace ronde::bench::detail {
namespace {

using Json = nlohmann::ordered_json;

// Columns that an algorithm of our link fills, and its name. The link of one machine has one.
struct Column {
  const char* key;
  const char* algorithm;
};
constexpr auto kAlgorithms = std::to_array<Column>({{"link_us", "shm"},
                                                    {"gather_us", "gather"},
                                                    {"doubling_us", "doubling"},
                                                    {"direct_us", "direct"},
                                                    {"ring_us", "ring"},
                                                    {"halving_us", "halving"}});

struct Kind {
  std::string dtype, memory;
  friend bool operator==(const Kind&, const Kind&) = default;
};

Kind kind_of(const Json& row) {
  return {row.at("dtype"), row.at("memory")};
}

std::vector<Kind> kinds_of(const Json& rows) {
  std::vector<Kind> kinds;
  for (const Json& row : rows)
    if (std::ranges::find(kinds, kind_of(row)) == kinds.end()) kinds.push_back(kind_of(row));
  return kinds;
}

std::vector<std::string> columns_of(const Json& rows) {
  std::vector<std::string> columns;
  for (const auto& [key, cell] : rows.at(0).items())
    if (key.ends_with("_us") && !key.ends_with("p50_us") && !key.ends_with("p90_us")) columns.push_back(key);
  return columns;
}

std::string contestant_of(const std::string& column) {
  return column == "median_us" ? "ronde" : column.substr(0, column.size() - 3);
}

// Nothing when they are of fewer than two sizes.
std::optional<CostFit> fit_of(const Json& rows, const Kind& kind, const std::string& column) {
  std::vector<CostPoint> points;
  std::set<double> sizes;
  for (const Json& row : rows) {
    if (kind_of(row) != kind || !row.contains(column) || !row.at(column).is_number()) continue;
    points.push_back({row.at("bytes").get<double>(), row.at(column).get<double>()});
    sizes.insert(points.back().bytes);
  }
  return sizes.size() < 2 ? std::nullopt : std::optional(fit_cost(points));
}

Json bandwidth_of(const CostFit& fit) {
  return fit.us_per_byte > 0 ? Json(fit.gb_per_s()) : Json(nullptr);
}

}  // namespace

std::vector<Section> cost_sections(const Json& rows, int nodes) {
  Section fits{.key = "fits",
               .words = "Fit of latency + bytes / bandwidth; 'error' is the median deviation of the measurements:"};
  Section table{.key = "table", .words = "The fastest algorithm for each size, according to these fits:"};
  const CostModel::Place place{.ranks = rows.at(0).at("ranks"), .nodes = nodes};
  for (const Kind& kind : kinds_of(rows)) {
    for (const std::string& column : columns_of(rows))
      if (const auto fit = fit_of(rows, kind, column))
        fits.rows.push_back({{"ranks", place.ranks},
                             {"dtype", kind.dtype},
                             {"memory", kind.memory},
                             {"contestant", contestant_of(column)},
                             {"latency_us", fit->latency_us},
                             {"gb_per_s", bandwidth_of(*fit)},
                             {"error", fit->error}});
    CostModel model;
    for (const Column& column : kAlgorithms) {
      if (nodes > 1 && column.algorithm == std::string_view("shm"))
        continue;  // there the link chooses among the others
      if (const auto fit = fit_of(rows, kind, column.key)) model.add(place, column.algorithm, *fit);
    }
    const auto ranges = model.ranges(place);
    for (std::size_t i = 0; i < ranges.size(); ++i)
      table.rows.push_back(
          {{"ranks", place.ranks},
           {"nodes", place.nodes},
           {"dtype", kind.dtype},
           {"memory", kind.memory},
           {"from_bytes", std::llround(ranges[i].from_bytes)},
           {"to_bytes", i + 1 < ranges.size() ? Json(std::llround(ranges[i + 1].from_bytes)) : Json(nullptr)},
           {"algorithm", ranges[i].algorithm}});
  }
  std::vector<Section> sections;
  if (!fits.rows.empty()) sections.push_back(std::move(fits));
  if (!table.rows.empty()) sections.push_back(std::move(table));
  return sections;
}

}  // namespace ronde::bench::detail
