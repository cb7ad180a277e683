#pragma once

#include <chrono>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include "ronde/bench/comm/rank.h"
#include "ronde/bench/detail/command.h"
#include "ronde/comm/engine.h"
#include "ronde/comm/socket_bootstrap.h"
#include "ronde/topology/affinity.h"

// What all ranks of a benchmark do: meet, and then answer commands.
namespace ronde::bench::detail {

inline constexpr auto kMeetingTime = std::chrono::seconds(60);

// Meets the other ranks, and binds this thread to its cpu; threads that it starts inherit that.
inline std::shared_ptr<comm::Bootstrap> meet(const RankOptions& options) {
  std::shared_ptr<comm::Bootstrap> bootstrap = comm::bootstrap_from(options.environment, Deadline::after(kMeetingTime));
  const auto rank = static_cast<std::size_t>(bootstrap->rank());
  if (rank < options.cpus.size()) topology::bind_this_thread({options.cpus[rank]});
  return bootstrap;
}

inline comm::EngineOptions bench_engine_options(const Settings& settings) {
  comm::EngineOptions options = comm::engine_options(settings);
  options.stall_warn = std::chrono::hours(24);  // ranks wait for their turn as long as it takes
  return options;
}

// What the first rank reads, on all ranks; nothing at the end.
inline std::optional<Command> next_command(comm::Bootstrap& bootstrap) {
  std::string line;
  if (bootstrap.rank() == 0) std::getline(std::cin, line);
  return read_command(bootstrap.exchange(line, Deadline()).front());
}

// Answers commands until they end.
inline void serve(comm::Bootstrap& bootstrap, const std::function<Timing(const Command&)>& answer) {
  const bool speaks = bootstrap.rank() == 0;
  if (speaks) std::cout << "ready" << std::endl;
  while (const auto command = next_command(bootstrap)) {
    const Timing timing = answer(*command);
    if (speaks) std::cout << write_timing(timing) << std::endl;
  }
}

}  // namespace ronde::bench::detail
