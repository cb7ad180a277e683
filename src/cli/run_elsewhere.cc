// Ranks on several machines, started by mpirun, hydra, srun or jsrun.
#include <filesystem>

#include <unistd.h>

#include "ronde/base/error.h"
#include "ronde/base/text.h"
#include "ronde/cli/mpi_facts.h"
#include "ronde/cli/run_flags.h"
#include "ronde/launch/ask.h"
#include "ronde/launch/launcher.h"
#include "ronde/launch/remote_job.h"
#include "ronde/launch/shell.h"
#include "ronde/topology/draw.h"
#include "ronde/topology/host.h"

namespace ronde::cli {
namespace {

using launch::LaunchRequest;
using Words = std::vector<std::string>;

// Which MPI library ranks will load decides who can start them. Without one it is the launcher's choice.
launch::MpiFamily mpi_family(const Context& context) {
  const std::string file = mpi_file(context.settings);
  if (file.empty()) return launch::MpiFamily::Unknown;
  try {
    return launch::family_of(mpi_library_version(file));
  } catch (const Error& error) {
    context.log.warn("{}", error.what());
    return launch::MpiFamily::Unknown;
  }
}

// What every rank starts with: ourselves, then the command.
Words rank_command(const RunRequest& request, const launch::HostPlan& plan, const LaunchRequest& launch, bool relay) {
  const RunFlags& flags = request.flags;
  Words words{std::filesystem::read_symlink("/proc/self/exe").string(),
              "start-rank",
              "--launcher",
              std::string(name(launch.launcher.kind)),
              "--layout",
              launch::format_layout(launch::layout_of(plan.placement)),
              "--master",
              fmt::format("{}:{}", plan.placement.hosts.front().name, launch::master_port())};
  const bool launcher_binds = !flags.binding_args.empty();
  NodeFlags node = flags.node;
  if (launcher_binds) node.bind = "none";
  for (std::string& word : binding_words(node)) words.push_back(std::move(word));
  if (!flags.container.image.empty()) words.insert(words.end(), {"--container", flags.container.image});
  for (const std::string& bind : flags.container.binds) words.insert(words.end(), {"--container-bind", bind});
  if (flags.node.verbose) words.emplace_back("--verbose");
  if (relay) words.emplace_back("--relay");
  words.emplace_back("--");
  words.insert(words.end(), request.command.begin(), request.command.end());
  return words;
}

LaunchRequest decide(const RunRequest& request, const launch::HostPlan& plan, const Context& context) {
  const RunFlags& flags = request.flags;
  const Words extra = launch::shell_words(flags.mpi_args, "--mpi-args");
  const Words own_binding = launch::shell_words(flags.binding_args, "--binding-args");
  const launch::LauncherWish wish{
      .kind = launch::parse_launcher(flags.launcher),
      .scheduler = plan.scheduler ? plan.scheduler : launch::scheduler_of(context.environment),
      .family = mpi_family(context)};
  Environment::Variables variables = context.environment.all();
  for (const auto& [name, value] : request.settings) variables[name] = value;
  return {.launcher = choose_launcher(launch::find_launchers(context.environment), wish),
          .placement = plan.placement,
          .family = wish.family,
          .pass = launch::variables_to_pass(variables),
          .extra = extra,
          .binding = own_binding,
          .interface = context.settings.get<"comm.interface">(),
          .tcp = flags.tcp,
          .as_root = geteuid() == 0,
          .keep_order = !plan.scheduler};
}

void warn_of_other_family(const LaunchRequest& launch, const Context& context) {
  const launch::MpiFamily starts = family_of(launch.launcher.kind);
  if (starts == launch::MpiFamily::Unknown || launch.family == launch::MpiFamily::Unknown || starts == launch.family)
    return;
  context.log.warn(
      "{} starts {}, but the MPI library of this build is {}: every rank would find itself alone; setting mpi.library "
      "names another library, --launcher another launcher",
      launch.launcher.program, name(starts), name(launch.family));
}

std::string commented(std::string_view text) {
  std::string out;
  for (const auto line : split(trim(text), '\n')) out += fmt::format("#   {}\n", line);
  return out;
}

std::string describe(const RunRequest& request, const LaunchRequest& launch, const Words& words) {
  Words hosts;
  for (const launch::HostShare& host : launch.placement.hosts)
    hosts.push_back(fmt::format("{}:{}", host.name, host.ranks));
  std::string text = fmt::format(
      "# {} on {}: {}\n# started by {} {}\n", counted(static_cast<std::size_t>(launch.placement.ranks), "rank"),
      counted(hosts.size(), "host"), join(hosts, " "), name(launch.launcher.kind), launch.launcher.version);
  for (const auto& [name, value] : request.settings)
    text += fmt::format("export {}={}\n", name, launch::shell_quoted(value));
  text += launch::shell_line(words) + "\n";
  if (!request.flags.binding_args.empty()) return text;
  topology::BindingRequest binding = request.binding;
  binding.ranks = launch.placement.hosts.front().ranks;
  text += fmt::format("# Every machine binds its own ranks. {} on one like this, {}:\n",
                      counted(static_cast<std::size_t>(binding.ranks), "rank"), topology::host_name());
  return text + commented(topology::draw(topology::plan_binding(topology::discover(), binding)));
}

}  // namespace

int run_elsewhere(const RunRequest& request, const launch::HostPlan& plan, const Context& context) {
  LaunchRequest launch = decide(request, plan, context);
  warn_of_other_family(launch, context);
  if (launch.tcp && launch.launcher.kind != launch::LauncherKind::OpenMpi)
    context.log.warn("--tcp is for Open MPI's mpirun; {} does not know it", name(launch.launcher.kind));
  launch.rank_command = rank_command(request, plan, launch, !request.flags.dry_run);
  const Words words = launch_command(launch);
  if (request.flags.dry_run) {
    fmt::print("{}", describe(request, launch, words));
    return 0;
  }
  if (request.flags.node.verbose) context.log.info("starting {}", launch::shell_line(words));
  return launch::run_remote_job({.command = words,
                                 .launcher = std::string(name(launch.launcher.kind)),
                                 .stop_signal = launch::stop_signal(launch.launcher.kind),
                                 .ranks = plan.placement.ranks,
                                 .environment = context.environment,
                                 .settings = request.settings,
                                 .grace = context.settings.get<"launch.grace">(),
                                 .out = stream_of(stdout, context),
                                 .err = stream_of(stderr, context),
                                 .display = display_of(request.flags.node)});
}

}  // namespace ronde::cli
