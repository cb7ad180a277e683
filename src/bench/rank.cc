#include "ronde/bench/rank.h"

#include <chrono>
#include <iostream>
#include <memory>
#include <optional>

#include "ronde/base/error.h"
#include "ronde/bench/detail/lent.h"
#include "ronde/bench/detail/rank_work.h"
#include "ronde/bench/detail/step_work.h"
#include "ronde/comm/engine.h"
#include "ronde/comm/link_bench.h"
#include "ronde/comm/socket_bootstrap.h"
#include "ronde/topology/affinity.h"

namespace ronde::bench {
namespace {

using namespace std::chrono_literals;

constexpr auto kStartTime = 60s;

// What the first rank reads, on all ranks; nothing at the end.
std::optional<detail::Command> next_command(comm::Bootstrap& bootstrap) {
  std::string line;
  if (bootstrap.rank() == 0) std::getline(std::cin, line);
  return detail::read_command(bootstrap.exchange(line, Deadline()).front());
}

comm::EngineOptions engine_options_for(const Settings& settings) {
  comm::EngineOptions options = comm::engine_options(settings);
  options.stall_warn = 24h;  // ranks wait for their turn as long as it takes
  return options;
}

}  // namespace

void serve_rank(const RankOptions& options) {
  const std::shared_ptr bootstrap = comm::bootstrap_from(options.environment, Deadline::after(kStartTime));
  const auto rank = static_cast<std::size_t>(bootstrap->rank());
  if (rank < options.cpus.size()) topology::bind_this_thread({options.cpus[rank]});
  const comm::EngineOptions engine_options = engine_options_for(options.settings);
  comm::Engine engine(std::make_unique<detail::Lent>(bootstrap), engine_options);
  comm::BareLink link(*bootstrap,
                      {.pretend_nodes = engine_options.pretend_nodes,
                       .interfaces = engine_options.interfaces,
                       .tcp_only = engine_options.tcp_only},
                      Deadline::after(kStartTime));
  detail::RankWork work(engine, link);
  std::optional<detail::StepWork> step;
  if (!options.model.empty()) step.emplace(engine, detail::parameters_of(options.model), options.compute_us);
  if (rank == 0) std::cout << "ready" << std::endl;
  while (const auto command = next_command(*bootstrap)) {
    const double time = step ? step->time(*command) : work.time(*command);
    if (rank == 0) std::cout << time << std::endl;
  }
}

}  // namespace ronde::bench
