#include "ronde/launch/run/job.h"

#include <unistd.h>

#include <system_error>

#include "ronde/base/error.h"
#include "ronde/launch/place/rank_file.h"
#include "ronde/launch/process/guarded.h"
#include "ronde/launch/process/pause.h"
#include "ronde/launch/process/runner.h"
#include "ronde/launch/process/spawn.h"
#include "ronde/launch/run/outcome.h"

namespace ronde::launch {
namespace {

// Between attempts nothing else writes there.
void say(const Job& job, const std::string& sentence) {
  if (!sentence.empty()) dprintf(job.err.descriptor, "%s\n", Paint(job.err.color).yellow(sentence).c_str());
}

}  // namespace

void check_command(const Job& job) {
  detail::find_program(job.command.front(), job.environment);
}

int run_job(const Job& job) {
  detail::Runner::Start start{.program = detail::find_program(job.command.front(), job.environment),
                              .id = std::to_string(getpid())};
  detail::make_folder(job.display.folder);
  const int ranks = static_cast<int>(job.binding.ranks.size());
  const std::vector<HostSlots> hosts{{job.host, ranks}};
  while (true) {
    JobEnd end;
    const auto work = [&](int lifeline) {
      start.lifeline = lifeline;
      return detail::Runner(job, start).run();
    };
    end.exit_code = detail::guarded(work, &end.interrupted);
    const RestartDecision decision = decide_restart(job.restart, start.attempt, end, ranks, hosts);
    say(job, decision.sentence);
    if (!decision.again) return end.exit_code;
    if (const auto signal = detail::pause_for(decision.delay)) {
      say(job, fmt::format("stopped by {}", name_of_signal(*signal)));
      return 128 + *signal;
    }
    ++start.attempt;
  }
}

}  // namespace ronde::launch
