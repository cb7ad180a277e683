#include "ronde/launch/cluster/remote_job.h"

#include <unistd.h>

#include <array>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"
#include "ronde/launch/cluster/free_port.h"
#include "ronde/launch/cluster/remote_runner.h"
#include "ronde/launch/place/hosts.h"
#include "ronde/launch/place/rank_file.h"
#include "ronde/launch/process/guarded.h"
#include "ronde/launch/process/pause.h"
#include "ronde/launch/process/spawn.h"
#include "ronde/launch/run/outcome.h"

namespace ronde::launch {
namespace {

// Between attempts nothing else writes there.
void say(const Stream& err, const std::string& sentence) {
  if (!sentence.empty()) dprintf(err.descriptor, "%s\n", Paint(err.color).yellow(sentence).c_str());
}

// The loop runs in a process of its own, which writes what it knows of hosts as lines: the first is failed_host.
void write_hosts(int to, const std::string& failed, const std::vector<std::string>& lost) {
  std::string text = failed;
  for (const std::string& host : lost) text += "\n" + host;
  [[maybe_unused]] const auto written = write(to, text.data(), text.size());
}

void read_hosts(int from, JobEnd& end) {
  std::string text;
  std::array<char, 4096> bytes;
  for (ssize_t got = 0; (got = read(from, bytes.data(), bytes.size())) > 0;)
    text.append(bytes.data(), static_cast<std::size_t>(got));
  const auto lines = split(text, '\n');
  for (std::size_t i = 0; i < lines.size(); ++i)
    if (i == 0)
      end.failed_host = lines[i];
    else
      end.lost_hosts.emplace_back(lines[i]);
}

}  // namespace

int master_port() {
  return detail::free_port();
}

JobEnd run_remote_job(const RemoteJob& job) {
  const std::string program = detail::find_program(job.command.front(), job.environment);
  detail::make_folder(job.display.folder);
  detail::Pipe hosts = detail::Pipe::make();
  JobEnd end;
  const auto work = [&](int lifeline) {
    detail::RemoteRunner runner(job, program, lifeline);
    const int code = runner.run();
    write_hosts(hosts.write.get(), runner.failed_host(), runner.lost_hosts());
    return code;
  };
  end.exit_code = detail::guarded(work, &end.interrupted);
  hosts.write.close();
  read_hosts(hosts.read.get(), end);
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
