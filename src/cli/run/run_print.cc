// What `ronde run` prints instead of starting anything: batch scripts, and what is built in.
#include <algorithm>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"
#include "ronde/base/text/units.h"
#include "ronde/base/version.h"
#include "ronde/cli/mpi_facts.h"
#include "ronde/cli/program/parts.h"
#include "ronde/cli/run/run_flags.h"
#include "ronde/launch/cluster/ask.h"
#include "ronde/launch/cluster/script.h"

namespace ronde::cli {
namespace {

// Flags that the job answers for once it runs. All of them take a value.
bool is_for_the_script(std::string_view flag) {
  constexpr auto kFlags =
      std::to_array<std::string_view>({"-n", "--num-proc", "--ranks-per-node", "--script", "--nodes", "--time",
                                       "--gpus-per-node", "--account", "--queue", "--job-name", "--config-file"});
  return std::ranges::count(kFlags, flag) > 0;
}

// The command line of the job: what was typed, but for what is in the script.
std::vector<std::string> job_command(const RunLine& line) {
  std::vector<std::string> words{"ronde"};
  for (std::size_t i = 1; i < line.ours.size(); ++i) {
    const bool joined = line.ours[i].find('=') != std::string::npos;
    if (!is_for_the_script(split(line.ours[i], '=').front()))
      words.push_back(line.ours[i]);
    else if (!joined)
      ++i;
  }
  words.emplace_back("--");
  words.insert(words.end(), line.command.begin(), line.command.end());
  return words;
}

std::chrono::seconds time_limit(const RunFlags& flags) {
  if (flags.time.empty()) return std::chrono::hours(1);
  try {
    const auto time = std::chrono::ceil<std::chrono::seconds>(parse_duration(flags.time));
    if (time > std::chrono::seconds(0)) return time;
  } catch (const Error& error) {
    throw Error::bad_input("--time {}: {}", flags.time, error.message());
  }
  throw Error::bad_input("--time {}: the time limit must be more than 0", flags.time);
}

std::string box(bool there, std::string_view what) {
  return fmt::format("    [{}] {}\n", there ? 'X' : ' ', what);
}

std::string part_line(std::string_view name, std::string_view shown) {
  const auto part = std::ranges::find(parts(), name, &Part::name);
  const bool there = part != parts().end() && part->built_in;
  return box(there, there && !part->version.empty() ? fmt::format("{} {}", shown, part->version) : std::string(shown));
}

std::string mpi_line(const Context& context) {
  const std::string file = mpi_file(context.settings);
  if (file.empty()) return box(false, "MPI");
  try {
    return box(true, fmt::format("MPI ({})", mpi_library_version(file)));
  } catch (const Error& error) {
    return box(false, fmt::format("MPI: {}", error.message()));
  }
}

}  // namespace

std::string script_text(const RunFlags& flags, const RunLine& line) {
  if (!flags.hosts.empty() || !flags.hostfile.empty())
    throw Error::bad_input("--script {}: the batch system chooses the hosts; remove -H and --hostfile", flags.script);
  return launch::batch_script(
      {.scheduler = launch::parse_scheduler(flags.script),
       .shape = launch::complete({.ranks = parse_count("-n", flags.ranks, kMostRanks),
                                  .nodes = parse_count("--nodes", flags.nodes, kMostRanks),
                                  .per_node = parse_count("--ranks-per-node", flags.per_host, kMostRanksHere)}),
       .time = time_limit(flags),
       .gpus_per_node = parse_count("--gpus-per-node", flags.gpus, kMostRanksHere),
       .account = flags.account,
       .queue = flags.queue,
       .job_name = flags.job_name,
       .command = job_command(line)});
}

// The shape of horovodrun's own answer.
std::string check_build_text(const Context& context) {
  std::string text = fmt::format("Ronde v{}:\n\nAvailable Frameworks:\n", version());
  text += part_line("libtorch", "PyTorch (libtorch)");
  text += "\nAvailable Controllers:\n" + box(true, "Ronde's own, on one machine") + mpi_line(context);
  text += "\nAvailable Tensor Operations:\n" + box(true, "shared memory, on one machine");
  text += part_line("MPI", "MPI, between machines") + part_line("CUDA", "CUDA") + part_line("NCCL", "NCCL");
  text += "\nLaunchers on the PATH:\n";
  const auto found = launch::find_launchers(context.environment);
  for (const auto kind : {launch::LauncherKind::OpenMpi, launch::LauncherKind::Hydra, launch::LauncherKind::Srun,
                          launch::LauncherKind::Jsrun}) {
    const auto launcher = std::ranges::find(found, kind, &launch::Launcher::kind);
    text += launcher == found.end()
                ? box(false, name(kind))
                : box(true, fmt::format("{} {} ({})", name(kind), launcher->version, launcher->program));
  }
  return text;
}

}  // namespace ronde::cli
