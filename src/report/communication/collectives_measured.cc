// What was measured of allreduce, to compare with.
#include <algorithm>
#include <cmath>
#include <map>

#include <nlohmann/json.hpp>

#include "ronde/base/error.h"
#include "ronde/report/communication/collectives.h"

namespace ronde::report {
namespace {

using Json = nlohmann::json;

std::optional<double> positive(const Json& row, const char* key) {
  const auto found = row.find(key);
  if (found == row.end() || !found->is_number()) return {};
  const double value = found->get<double>();
  return std::isfinite(value) && value > 0 ? std::optional(value) : std::nullopt;
}

// Gradients are f32 in ordinary memory, unless there is nothing else.
bool ordinary(const Json& row) {
  return row.value("dtype", Json("f32")) == "f32" && row.value("memory", Json("heap")) == "heap";
}

}  // namespace

MeasuredAllreduce parse_allreduce(std::string_view text, const std::string& where) {
  const Json json = Json::parse(text, nullptr, false);
  const auto rows = json.is_object() ? json.find("rows") : json.end();
  if (!json.is_object() || json.value("bench", Json()) != "allreduce" || rows == json.end() || !rows->is_array())
    throw Error::bad_input("'{}' is not what 'ronde bench allreduce --json' prints", where);
  MeasuredAllreduce measured{.where = "in " + where};
  std::map<double, double> by_size;
  for (const bool any : {false, true})
    for (const Json& row : *rows) {
      if (!row.is_object() || (any && !by_size.empty()) || (!any && !ordinary(row))) continue;
      const auto bytes = positive(row, "bytes"), us = positive(row, "median_us"), ranks = positive(row, "ranks");
      if (!bytes || !us || !ranks || *ranks > 1e6) continue;
      by_size[*bytes] = *us;
      measured.ranks = static_cast<int>(*ranks);
    }
  if (by_size.empty()) throw Error::bad_input("'{}' has no row with bytes, ranks and median_us", where);
  for (const auto& [bytes, us] : by_size) measured.points.push_back({bytes, us});
  return measured;
}

MeasuredAllreduce measured_allreduce(const MachineRates& machine) {
  if (machine.allreduce_ranks < 2 || !(machine.allreduce_gb_s > 0)) return {};
  return {.ranks = machine.allreduce_ranks,
          .latency_us = std::max(0.0, machine.allreduce_us),
          .gb_per_s = machine.allreduce_gb_s,
          .where = "by 'ronde bench roofline'"};
}

double MeasuredAllreduce::us(double bytes) const {
  if (points.empty()) return latency_us + bytes / (gb_per_s * 1e3);
  const auto above = std::ranges::find_if(points, [&](const CostPoint& point) { return point.bytes >= bytes; });
  if (above == points.begin()) return points.front().us;
  if (above == points.end()) return points.back().us * bytes / points.back().bytes;
  const CostPoint &low = *(above - 1), &high = *above;
  return low.us + (high.us - low.us) * (bytes - low.bytes) / (high.bytes - low.bytes);
}

}  // namespace ronde::report
