#include "ronde/bench/comm/control_simulated.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "ronde/base/error.h"
#include "ronde/comm/bench/simulated_job.h"

namespace ronde::bench::detail {
namespace {

constexpr int kPerNode = 8, kTensors = 10;
constexpr double kMiB = 1 << 20;

double worst(const comm::SimulatedFacts& facts, std::string_view word) {
  std::uint64_t most = 0;
  for (const comm::SimulatedCost& cost : facts.costs)
    if (cost.what.find(word) != std::string::npos) most = std::max(most, cost.messages);
  return static_cast<double>(most);
}

// For 10,000 ranks. Fewer need less.
std::vector<Bar> bars_of(const comm::SimulatedFacts& facts, int ranks) {
  const auto at_most = [](std::string key, std::string words, double value, double bar) {
    return Bar{std::move(key), std::move(words), value, bar, false};
  };
  std::uint64_t connections = 0;
  const int nodes = (ranks + kPerNode - 1) / kPerNode;
  const double most = 2 * std::ceil(std::log2(nodes)) + 8;
  for (const comm::SimulatedCost& cost : facts.costs) connections = std::max(connections, cost.connections);
  return {
      at_most("start_rounds", "start: messages in a row", static_cast<double>(facts.start_rounds), 40),
      at_most("start_mib", "start: MiB of a rank", static_cast<double>(facts.start_bytes) / kMiB, 64),
      at_most("bucket_messages", "a bucket of a plan: messages of a rank, most", worst(facts, "bucket"), 14),
      at_most("deviation_messages", "a deviation: messages of a rank, most", worst(facts, "deviate"), 64),
      at_most("departure_messages", "a departure: messages of another rank, most", worst(facts, "others"), 16),
      at_most("leaving_messages", "a departure: messages of the rank itself", worst(facts, "itself"), 16),
      at_most("connections", "one-way connections of a rank to agree, most", static_cast<double>(connections), most),
      at_most("bytes_per_peer", "bytes kept of a peer that is not connected", facts.bytes_per_peer, 256)};
}

}  // namespace

Report run_simulated_control(const Options& options) {
  const int tensors = options.tensors.empty() ? kTensors : options.tensors.front();
  const comm::SimulatedFacts facts =
      comm::simulate_job({.ranks = options.simulate, .per_node = kPerNode, .tensors = tensors});
  if (!facts.sums_are_right) throw Error(Error::Kind::Bug, "the simulated ranks got wrong results");
  Report report{.name = "control"};
  for (const comm::SimulatedCost& cost : facts.costs)
    report.rows.push_back({{"ranks", options.simulate},
                           {"per_node", kPerNode},
                           {"what", cost.what},
                           {"messages", cost.messages},
                           {"network_messages", cost.network_messages},
                           {"data_messages", cost.data_messages},
                           {"bytes", cost.bytes},
                           {"connections", cost.connections},
                           {"all_connections", cost.all_connections},
                           {"depth", cost.depth}});
  report.bars = bars_of(facts, options.simulate);
  return report;
}

}  // namespace ronde::bench::detail
