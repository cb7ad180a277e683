#include "ronde/bench/bench.h"

#include <algorithm>
#include <array>
#include <vector>

#include "ronde/base/error.h"
#include "ronde/base/table.h"
#include "ronde/base/text.h"
#include "ronde/base/version.h"
#include "ronde/bench/benchmarks.h"
#include "ronde/topology/machine.h"

namespace ronde::bench {
namespace {

constexpr auto kBenchmarks = std::to_array<Benchmark>({
    {"span", "what recording one span or counter costs", run_span},
});

std::string cell_text(const nlohmann::ordered_json& cell) {
  if (cell.is_string()) return cell.get<std::string>();
  if (cell.is_number_float()) return fmt::format("{:.4g}", cell.get<double>());
  return cell.dump();
}

}  // namespace

std::span<const Benchmark> all() {
  return kBenchmarks;
}

const Benchmark& find(std::string_view name) {
  const auto found = std::ranges::find(kBenchmarks, name, &Benchmark::name);
  if (found != kBenchmarks.end()) return *found;
  std::vector<std::string> names;
  for (const auto& benchmark : kBenchmarks) names.emplace_back(benchmark.name);
  throw Error::bad_input("there is no benchmark '{}'; there are: {}", name, join(names, ", "));
}

nlohmann::ordered_json to_json(const Report& report) {
  const topology::Machine machine = topology::discover();
  return {{"bench", report.name},
          {"version", 1},
          {"host",
           {{"name", machine.hostname},
            {"cpu", machine.cpu_model},
            {"cores", machine.cores.size()},
            {"ronde", version()},
            {"revision", revision()}}},
          {"rows", report.rows}};
}

std::string to_text(const Report& report) {
  std::vector<Table::Column> columns;
  for (const auto& [key, cell] : report.rows.at(0).items())
    columns.push_back({key, cell.is_number() ? Align::Right : Align::Left});
  Table table(columns);
  for (const auto& row : report.rows) {
    std::vector<std::string> cells;
    for (const auto& [key, cell] : row.items()) cells.push_back(cell_text(cell));
    table.add(std::move(cells));
  }
  return table.text();
}

}  // namespace ronde::bench
