// What a small tensor costs a Python program that hands over thousands of them by name and waits for each; and one
// after the other through torch.distributed.
#include "ronde/base/error.h"
#include "ronde/bench/benchmarks.h"
#include "ronde/bench/comm/turns.h"
#include "ronde/bench/detail/job.h"
#include "ronde/bench/detail/peers.h"

namespace ronde::bench {
namespace {

constexpr int kTensors[] = {1000, 4000};
constexpr std::size_t kBytes = 256;
constexpr double kMostUs = 3.0;  // a tensor, of 4,000
constexpr std::size_t kDistributedBytes = 4;
constexpr double kMostDistributedUs = 30.0;

// All rows have the same columns; what a contestant does not do is null.
nlohmann::ordered_json row_of(std::ptrdiff_t ranks, int tensors, std::size_t bytes) {
  nlohmann::ordered_json row = {{"ranks", ranks}, {"tensors", tensors}, {"bytes", bytes}};
  for (const char* name : detail::kSmallTensorPeers) row[std::string(name) + "_us"] = nullptr;
  for (const char* name : detail::kDistributedPeers) row[std::string(name) + "_us"] = nullptr;
  row["ratio_gloo"] = nullptr;
  return row;
}

// all_reduce() of torch.distributed over our backend and over gloo.
void add_distributed(Report& report, const Options& options, std::span<const int> cpus) {
  const auto peers = detail::start_peers(detail::distributed_entrants(cpus, options.python), options.log);
  std::vector<detail::Heat> heats;
  for (const auto& peer : peers)
    heats.push_back({peer->name(), "allreduce", [&](const auto& command) { return peer->ask(command); }});
  const auto medians = detail::take_turns(heats, {.what = "allreduce", .bytes = kDistributedBytes}, options.turns);
  nlohmann::ordered_json row = row_of(std::ssize(cpus), 1, kDistributedBytes);
  for (std::size_t i = 0; i < heats.size(); ++i)
    if (medians[i]) row[heats[i].name + "_us"] = medians[i]->us;
  if (row["c10d_us"].is_number()) {
    const double ours = row["c10d_us"];
    report.bars.push_back({"c10d_us", "all_reduce of 4 B by torch.distributed", ours, kMostDistributedUs, false});
    if (row["gloo_us"].is_number()) row["ratio_gloo"] = row["gloo_us"].get<double>() / ours;
  }
  report.rows.push_back(std::move(row));
}

}  // namespace

Report run_python(const Options& options) {
  Report report{.name = "python"};
  const int ranks = detail::one_number_of_ranks(options);
  const auto cpus = detail::cpus_for(ranks);
  for (const int tensors :
       options.tensors.empty() ? std::vector<int>(std::begin(kTensors), std::end(kTensors)) : options.tensors) {
    const auto peers = detail::start_peers(detail::small_tensor_entrants(cpus, options.python, tensors), options.log);
    std::vector<detail::Heat> heats;
    for (const auto& peer : peers)
      heats.push_back({peer->name(), "allreduce", [&](const auto& command) { return peer->ask(command); }});
    if (heats.empty() || heats[0].name != "python")
      throw Error(Error::Kind::System, "cannot use the Python package ronde: see the warning above");
    const auto medians = detail::take_turns(heats, {.what = "allreduce", .bytes = kBytes}, options.turns);
    nlohmann::ordered_json row = row_of(ranks, tensors, kBytes);
    for (std::size_t i = 0; i < heats.size(); ++i)
      if (medians[i]) row[heats[i].name + "_us"] = medians[i]->us / tensors;
    if (tensors == 4000 && row["python_us"].is_number())
      report.bars.push_back(
          {"python_us", "4,000 tensors by name: a tensor, waited for", row["python_us"], kMostUs, false});
    report.rows.push_back(std::move(row));
  }
  add_distributed(report, options, cpus);
  return report;
}

}  // namespace ronde::bench
