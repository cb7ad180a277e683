#include "ronde/bench/bench.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "ronde/base/error.h"
#include "ronde/base/text/table.h"
#include "ronde/base/text/text.h"
#include "ronde/base/version.h"
#include "ronde/bench/benchmarks.h"
#include "ronde/bench/machine/busy.h"
#include "ronde/topology/machine.h"

namespace ronde::bench {
namespace {

constexpr double kMostBusy = 0.1;

constexpr auto kBenchmarks = std::to_array<Benchmark>({
    {"allreduce", "one blocking named allreduce, compared with the link alone, a plain copy and other libraries",
     "-n --sizes --turns --compare --python --device", run_allreduce},
    {"control", "control messages between ranks, in steady state and when idle", "-n --tensors --simulate",
     run_control},
    {"decode", "decode photographs into training samples on one core, compared with libjpeg-turbo decoding only",
     "--turns --dir", run_decode},
    {"nodes",
     "allreduce between nodes, compared with MPI; start it on all ranks: ronde run -H a:2,b:2 ronde bench nodes",
     "--sizes --turns", run_nodes},
    {"python",
     "small named tensors through the Python package, submitted and waited for one by one, compared with Horovod",
     "-n --tensors --turns --python", run_python},
    {"records", "small records of a pack with checksums, from the page cache and the disk, compared with read() alone",
     "--sizes --turns --dir", run_records},
    {"report", "time and memory of a report on traces of 64 ranks and 1,000 steps (about 1 GB)", "-n --dir",
     run_report},
    {"roofline", "peak rates of this machine: memory, arithmetic, links, disk; 'ronde limits' uses the result",
     "-n --sizes --turns --dir --output", run_roofline},
    {"span", "cost of recording one span or counter", "", run_span},
    {"step", "the gradients of a training step, tensor by tensor, compared with one contiguous allreduce",
     "-n --model --turns --compute --autotune", run_step},
    {"trace",
     "cost of recording a trace during training: steps of the smallest example, with and without a trace, in turns",
     "-n --batch --turns", run_trace},
    {"train", "training steps of a network, compared with ranks that do not communicate, and with other libraries",
     "-n --model --batch --turns --compare --python --device", run_train},
});

// Four digits, never an exponent: 0.2134, 219.6, 35601.
std::string number_text(double value) {
  return std::abs(value) >= 1000 ? fmt::format("{:.0f}", value) : fmt::format("{:.4g}", value);
}

std::string cell_text(const nlohmann::ordered_json& cell) {
  if (cell.is_null()) return "-";
  if (cell.is_string()) return cell.get<std::string>();
  if (cell.is_number_float()) return number_text(cell.get<double>());
  return cell.dump();
}

Align align_of(const nlohmann::ordered_json& rows, const std::string& key) {
  const auto is_text = [&](const auto& row) { return row.at(key).is_string(); };
  return std::any_of(rows.begin(), rows.end(), is_text) ? Align::Left : Align::Right;
}

std::string bar_text(const Bar& bar) {
  return fmt::format("{}: {} (bar: {} {}; {})\n", bar.words, number_text(bar.value),
                     bar.at_least ? "at least" : "at most", number_text(bar.bar), bar.met() ? "met" : "missed");
}

std::string table_text(const nlohmann::ordered_json& rows) {
  std::vector<Table::Column> columns;
  for (const auto& [key, cell] : rows.at(0).items()) columns.push_back({key, align_of(rows, key)});
  Table table(columns);
  for (const auto& row : rows) {
    std::vector<std::string> cells;
    for (const auto& [key, cell] : row.items()) cells.push_back(cell_text(cell));
    table.add(std::move(cells));
  }
  return table.text();
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
  throw Error::bad_input("unknown benchmark '{}'; choose one of {}", name, join(names, ", "));
}

Report run(const Benchmark& benchmark, const Options& options) {
  const double before = detail::busy_share();
  Report report = benchmark.run(options);
  report.busy = std::max(before, detail::busy_share());
  if (report.busy > kMostBusy)
    options.log.warn("other processes use {:.0f} % of this machine: do not quote these figures", 100 * report.busy);
  return report;
}

nlohmann::ordered_json to_json(const Report& report) {
  const topology::Machine machine = topology::discover();
  nlohmann::ordered_json json = {{"bench", report.name},
                                 {"version", 1},
                                 {"host",
                                  {{"name", machine.hostname},
                                   {"cpu", machine.cpu_model},
                                   {"cores", machine.cores.size()},
                                   {"busy", report.busy},
                                   {"ronde", version()},
                                   {"revision", revision()}}},
                                 {"rows", report.rows}};
  for (const Section& section : report.sections) json[section.key] = section.rows;
  for (const Bar& bar : report.bars)
    json["summary"][bar.key] = {{"value", bar.value}, {"bar", bar.bar}, {"met", bar.met()}};
  return json;
}

std::string to_text(const Report& report) {
  if (report.rows.empty()) return "";
  std::string text = table_text(report.rows);
  for (const Section& section : report.sections)
    text += fmt::format("\n{}\n{}", section.words, table_text(section.rows));
  if (!report.bars.empty()) text += "\n";
  for (const Bar& bar : report.bars) text += bar_text(bar);
  return text;
}

}  // namespace ronde::bench
