#include "ronde/bench/detail/job.h"

#include <chrono>

#include "ronde/base/error.h"
#include "ronde/bench/detail/peers.h"

namespace ronde::bench::detail {

int one_number_of_ranks(const Options& options, int by_default) {
  if (options.ranks.size() > 1) throw Error::bad_input("-n: this benchmark needs a single number of ranks");
  return options.ranks.empty() ? by_default : options.ranks.front();
}

Entrant our_entrant(const std::string& benchmark, std::span<const int> cpus, const Options& options) {
  std::vector<std::string> command{ronde_program(), "bench", benchmark, "--rank", cpu_list(cpus)};
  if (!options.model.empty()) command.insert(command.end(), {"--model", options.model});
  if (options.compute_us > 0) command.insert(command.end(), {"--compute", fmt::format("{}us", options.compute_us)});
  return {.name = "ronde",
          .command = std::move(command),
          .ranks = static_cast<int>(cpus.size()),
          .settings = options.settings};
}

Deadline start_deadline() {
  return Deadline::after(std::chrono::minutes(2));
}

}  // namespace ronde::bench::detail
