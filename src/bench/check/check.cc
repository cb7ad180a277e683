#include "ronde/bench/check/check.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "ronde/base/error.h"
#include "ronde/base/system/clock.h"
#include "ronde/base/text/format.h"
#include "ronde/bench/check/check_gather.h"
#include "ronde/bench/check/check_judge.h"
#include "ronde/bench/check/check_measure.h"
#include "ronde/comm/engine.h"
#include "ronde/comm/socket_bootstrap.h"

namespace ronde::bench {
namespace {

using namespace detail;

double seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

StartTimes start_of_process(const CheckOptions& options) {
  const auto age = age_of_process();
  StartTimes start{.load = seconds(age)};
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  if (options.begun) start.launch = std::max(0.0, seconds(now - age - *options.begun));
  return start;
}

// Everyone learns everything: so all know alike what to ask for next.
template <class Read>
auto exchange(comm::Bootstrap& bootstrap, const std::string& mine, Deadline until, Read read) {
  std::vector<decltype(read(mine))> all;
  for (const std::string& blob : bootstrap.exchange(mine, until)) all.push_back(read(blob));
  return all;
}

// The number of this rank on its node, from the names of the machines of all.
int local_rank_of(comm::Bootstrap& bootstrap, Deadline until) {
  const auto machines = bootstrap.exchange(this_machine(), until);
  const auto mine = machines.begin() + bootstrap.rank();
  return static_cast<int>(std::count(machines.begin(), mine, *mine));
}

CheckResults exchange_facts(comm::Bootstrap& bootstrap, const CheckOptions& options, Deadline until) {
  CheckResults results;
  RankFacts mine = gather_rank_facts(local_rank_of(bootstrap, until));
  // As the engine shares ranks out among pretended nodes.
  if (const auto nodes = static_cast<int>(options.settings.get<"topology.pretend_nodes">()); nodes > 1)
    mine.machine += fmt::format(" {}", bootstrap.rank() * std::min(nodes, bootstrap.size()) / bootstrap.size());
  results.ranks = exchange(bootstrap, to_blob(mine), until, rank_facts_from);
  results.nodes = find_nodes(results.ranks);
  const auto first_on_its_node = [&](int rank) {
    const int node = results.nodes.of_rank[static_cast<std::size_t>(rank)];
    return results.nodes.ranks[static_cast<std::size_t>(node)].front() == rank;
  };
  NodeFacts node;
  if (first_on_its_node(bootstrap.rank()))
    node = gather_node_facts(options.versions, options.command, options.environment);
  const auto all = exchange(bootstrap, to_blob(node), until, node_facts_from);
  for (const auto& ranks : results.nodes.ranks)
    results.node_facts.push_back(all[static_cast<std::size_t>(ranks.front())]);
  return results;
}

// Where the sums over all libraries differ, each library becomes a trait.
void exchange_libraries(comm::Bootstrap& bootstrap, CheckResults& results, Deadline until) {
  if (same_libraries(results.node_facts)) return;
  const auto all = exchange(bootstrap, to_blob(NodeFacts{.traits = loaded_libraries()}), until, node_facts_from);
  for (std::size_t node = 0; node < results.node_facts.size(); ++node) {
    auto& traits = results.node_facts[node].traits;
    const auto& libraries = all[static_cast<std::size_t>(results.nodes.ranks[node].front())].traits;
    std::erase_if(traits, [](const Trait& trait) { return trait.what == kLibraries; });
    traits.insert(traits.end(), libraries.begin(), libraries.end());
  }
}

void try_together(std::unique_ptr<comm::Bootstrap> bootstrap, const CheckOptions& options, StartTimes start,
                  CheckResults& results) {
  const auto begin = monotonic_now();
  comm::EngineOptions engine_options = comm::engine_options(options.settings);
  engine_options.stall_abort = engine_options.start_timeout;  // a check that hangs tells nothing
  comm::Engine engine(std::move(bootstrap), engine_options);
  start.engine = seconds(monotonic_now() - begin);
  results.start = share_start(engine, start);
  results.wrong_ranks = try_allreduce(engine);
  results.clock_offset_s = measure_clocks(engine, results.nodes);
  results.links = measure_links(engine, results.nodes);
  engine.world().barrier().wait();  // nobody leaves while another still measures
}

int print_verdict(const CheckResults& results) {
  const auto findings = judge(results);
  fmt::print("{}", check_table(results));
  if (const std::string start = start_text(results); !start.empty()) fmt::print("{}\n", start);
  for (const Finding& finding : findings) fmt::print("{}: {}\n", finding.wrong ? "wrong" : "note", finding.text);
  fmt::print("{}\n", verdict(results, findings));
  return std::ranges::any_of(findings, &Finding::wrong) ? 1 : 0;
}

}  // namespace

int check_rank(const CheckOptions& options) {
  StartTimes start = start_of_process(options);
  const auto until = Deadline::after(options.settings.get<"comm.start_timeout">());
  const auto begin = monotonic_now();
  auto bootstrap = comm::bootstrap_from(options.environment, until);
  bootstrap->exchange("", until);  // all are there
  start.meet = seconds(monotonic_now() - begin);
  const int rank = bootstrap->rank();
  CheckResults results = exchange_facts(*bootstrap, options, until);
  exchange_libraries(*bootstrap, results, until);
  try {
    try_together(std::move(bootstrap), options, start, results);
  } catch (const Error& error) {
    results.failure = error.what();
  }
  return rank == 0 ? print_verdict(results) : 0;
}

}  // namespace ronde::bench
