#include "ronde/launch/remote_job.h"

#include <unistd.h>

#include <array>

#include "ronde/base/error.h"
#include "ronde/launch/detail/free_port.h"
#include "ronde/launch/detail/guarded.h"
#include "ronde/launch/detail/pause.h"
#include "ronde/launch/detail/rank_file.h"
#include "ronde/launch/detail/remote_runner.h"
#include "ronde/launch/detail/spawn.h"
#include "ronde/launch/hosts.h"
#include "ronde/launch/outcome.h"

namespace ronde::launch {
namespace {

// Between attempts nothing else writes there.
void say(const Stream& err, const std::string& sentence) {
  if (!sentence.empty()) dprintf(err.descriptor, "%s\n", Paint(err.color).yellow(sentence).c_str());
}

}  // namespace

int master_port() {
  return detail::free_port();
}

JobEnd run_remote_job(const RemoteJob& job) {
  const std::string program = detail::find_program(job.command.front(), job.environment);
  detail::make_folder(job.display.folder);
  detail::Pipe host = detail::Pipe::make();  // the loop runs in a process of its own
  JobEnd end;
  const auto work = [&](int lifeline) {
    detail::RemoteRunner runner(job, program, lifeline);
    const int code = runner.run();
    [[maybe_unused]] const auto written =
        write(host.write.get(), runner.failed_host().data(), runner.failed_host().size());
    return code;
  };
  end.exit_code = detail::guarded(work, &end.interrupted);
  host.write.close();
  std::array<char, 256> bytes;
  if (const ssize_t got = read(host.read.get(), bytes.data(), bytes.size()); got > 0)
    end.failed_host.assign(bytes.data(), static_cast<std::size_t>(got));
  return end;
}

int run_remote_attempts(
    const RestartRules& rules, std::vector<HostSlots> hosts, int ranks,
    const std::function<RemoteJob(const std::vector<HostSlots>& hosts, int ranks, int attempt)>& make) {
  for (int attempt = 1;; ++attempt) {
    const RemoteJob job = make(hosts, ranks, attempt);
    JobEnd end = run_remote_job(job);
    for (const HostSlots& known : hosts)
      if (is_this_host(known.host, end.failed_host)) end.failed_host = known.host;  // as the user calls it
    const RestartDecision decision = decide_restart(rules, attempt, end, ranks, hosts);
    say(job.err, decision.sentence);
    if (!decision.again) return end.exit_code;
    if (const auto signal = detail::pause_for(decision.delay)) {
      say(job.err, fmt::format("stopped by {}", name_of_signal(*signal)));
      return 128 + *signal;
    }
    hosts = decision.hosts;
    ranks = decision.ranks;
  }
}

}  // namespace ronde::launch
