// What a small tensor costs a Python program that hands over thousands of them by name and waits for each.
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
    nlohmann::ordered_json row = {{"ranks", ranks}, {"tensors", tensors}, {"bytes", kBytes}};
    for (const char* name : detail::kSmallTensorPeers) row[std::string(name) + "_us"] = nullptr;
    for (std::size_t i = 0; i < heats.size(); ++i)
      if (medians[i]) row[heats[i].name + "_us"] = medians[i]->us / tensors;
    if (tensors == 4000 && row["python_us"].is_number())
      report.bars.push_back(
          {"python_us", "4,000 tensors by name: a tensor, waited for", row["python_us"], kMostUs, false});
    report.rows.push_back(std::move(row));
  }
  return report;
}

}  // namespace ronde::bench
