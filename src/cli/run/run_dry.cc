// `ronde run --dry-run` for ranks on this machine.
#include "ronde/base/text/text.h"
#include "ronde/cli/run/run_flags.h"
#include "ronde/launch/cluster/shell.h"
#include "ronde/launch/run/rank_environment.h"
#include "ronde/topology/draw.h"

namespace ronde::cli {
namespace {

// What rank_environment() adds to what is there anyway, as env(1) takes it. The socket by which ranks find each other
// and the port exist only while the job runs.
std::vector<std::string> added_variables(const Context& context, const launch::Job& job,
                                         const topology::RankBinding& binding) {
  const launch::JobFacts facts{.size = static_cast<int>(job.binding.ranks.size()),
                               .master_port = 0,
                               .bootstrap = "",
                               .horovod = job.horovod,
                               .settings = job.settings};
  std::vector<std::string> words;
  for (const auto& [name, value] : rank_environment(context.environment, facts, binding))
    if (!name.starts_with("RONDE__") && name != "MASTER_PORT" && context.environment.get(name) != value)
      words.push_back(fmt::format("{}={}", name, value));
  return words;
}

}  // namespace

std::string describe_here(const launch::Job& job, const Context& context) {
  std::string text = fmt::format(
      "# {} on this machine, {}; MASTER_PORT and the socket by which ranks find each other are created at the start\n",
      counted(job.binding.ranks.size(), "rank"), job.host);
  for (const topology::RankBinding& binding : job.binding.ranks) {
    std::vector<std::string> words = added_variables(context, job, binding);
    words.insert(words.begin(), "env");
    if (job.binding.policy != topology::Policy::None)
      words.insert(words.end(), {"taskset", "-c", binding.cpus.format()});
    words.insert(words.end(), job.command.begin(), job.command.end());
    text += launch::shell_line(words) + "\n";
  }
  const std::string table = topology::draw(job.binding);
  for (const auto line : split(trim(table), '\n')) text += fmt::format("#   {}\n", line);
  return text;
}

}  // namespace ronde::cli
