// Ranks on several machines, started by mpirun, hydra, srun or jsrun.
#include <unistd.h>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"
#include "ronde/cli/mpi_facts.h"
#include "ronde/cli/run/run_flags.h"
#include "ronde/launch/cluster/ask.h"
#include "ronde/launch/cluster/remote_job.h"
#include "ronde/launch/cluster/shell.h"
#include "ronde/launch/horovod/horovod_shim.h"
#include "ronde/launch/run/launcher.h"
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
struct Attempt {
  int attempt = 1;
  bool relay = true;
};

void append(Words& words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
}

bool stages(const RunFlags& flags) {
  return !flags.node.stage.empty() || !flags.node.unstage.empty();
}

// Folders of a job are named after this.
std::string job_number() {
  return std::to_string(getpid());
}

Words job_stage_words(const RunFlags& flags) {
  Words words{"--job", job_number()};
  append(words, stage_words(flags.node));
  return words;
}

// Ourselves in front of a command, on every rank of a placement.
Words start_words(const LaunchRequest& launch) {
  return {own_program(), "start-rank",
          "--launcher",  std::string(name(launch.launcher.kind)),
          "--layout",    launch::format_layout(launch::layout_of(launch.placement)),
          "--master",    fmt::format("{}:{}", launch.placement.hosts.front().name, launch::master_port())};
}
Words rank_command(const RunRequest& request, const LaunchRequest& launch, const Attempt& attempt) {
  const RunFlags& flags = request.flags;
  Words words = start_words(launch);
  NodeFlags node = flags.node;
  if (!flags.binding_args.empty()) node.bind = "none";  // the launcher does it
  append(words, binding_words(node));
  if (stages(flags)) append(words, job_stage_words(flags));
  if (!flags.container.image.empty()) words.insert(words.end(), {"--container", flags.container.image});
  for (const std::string& bind : flags.container.binds) words.insert(words.end(), {"--container-bind", bind});
  if (flags.horovod) words.emplace_back("--horovod");
  if (flags.node.verbose) words.emplace_back("--verbose");
  if (attempt.attempt > 1) words.insert(words.end(), {"--attempt", std::to_string(attempt.attempt)});
  if (attempt.relay) words.emplace_back("--relay");
  words.emplace_back("--");
  words.insert(words.end(), request.command.begin(), request.command.end());
  return words;
}

// Where an attempt goes after machines have been left out.
launch::Placement placement_on(const std::vector<launch::HostSlots>& slots, int ranks, bool oversubscribe) {
  std::vector<launch::Host> hosts;
  for (const launch::HostSlots& host : slots) hosts.push_back({host.host, host.slots, host.slots});
  return launch::place_ranks(std::move(hosts), {.ranks = ranks, .oversubscribe = oversubscribe});
}

LaunchRequest decide(const RunRequest& request, const launch::HostPlan& plan, const Context& context) {
  const RunFlags& flags = request.flags;
  const Words extra = launch::shell_words(flags.mpi_args, "--mpi-args");
  const Words own_binding = launch::shell_words(flags.binding_args, "--binding-args");
  const launch::LauncherPreference preference{
      .kind = launch::parse_launcher(flags.launcher),
      .scheduler = plan.scheduler ? plan.scheduler : launch::scheduler_of(context.environment),
      .family = mpi_family(context)};
  Environment::Variables variables = context.environment.all();
  for (const auto& [name, value] : request.settings) variables[name] = value;
  return {.launcher = choose_launcher(launch::find_launchers(context.environment), preference),
          .placement = plan.placement,
          .family = preference.family,
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
      "{} starts {}, but the MPI library of this build is {}: every rank would run alone; choose another library with "
      "mpi.library, or another launcher with --launcher",
      launch.launcher.program, name(starts), name(launch.family));
}

// Runs `ronde stage` once on every machine, through the same launcher. Returns the exit code.
int stage_on_nodes(const RunFlags& flags, LaunchRequest launch, launch::RemoteJob job, bool back) {
  launch.placement.ranks = static_cast<int>(launch.placement.hosts.size());
  launch.placement.oversubscribed = false;
  for (launch::HostShare& host : launch.placement.hosts) host.ranks = 1;
  launch.rank_command = start_words(launch);
  append(launch.rank_command, {"--bind", "none", "--relay", "--", own_program(), "stage"});
  append(launch.rank_command, job_stage_words(flags));
  if (back) append(launch.rank_command, {"--back", "--host-folders"});
  job.command = launch_command(launch);
  job.ranks = launch.placement.ranks;
  job.display = {};
  return launch::run_remote_job(job).exit_code;
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
  const RunFlags& flags = request.flags;
  if (flags.horovod) launch::horovod_python_path(own_program());  // once here, rather than by every rank
  LaunchRequest launch = decide(request, plan, context);
  warn_of_other_family(launch, context);
  if (launch.tcp && launch.launcher.kind != launch::LauncherKind::OpenMpi)
    context.log.warn("--tcp works only with Open MPI's mpirun; {} does not support it", name(launch.launcher.kind));
  if (flags.dry_run) {
    launch.rank_command = rank_command(request, launch, {.attempt = 1, .relay = false});
    fmt::print("{}", describe(request, launch, launch_command(launch)));
    return 0;
  }
  launch::Job shown{.command = {},
                    .binding = {},
                    .host = {},
                    .environment = {},
                    .settings = {},
                    .out = stream_of(stdout, context),
                    .err = stream_of(stderr, context)};
  apply(flags.node, shown);  // display and restarts are the same for ranks on other machines
  const launch::RemoteJob job{.command = {},
                              .launcher = std::string(name(launch.launcher.kind)),
                              .stop_signal = launch::stop_signal(launch.launcher.kind),
                              .passes_user_signal = launch::passes_user_signal(launch.launcher.kind),
                              .ranks = plan.placement.ranks,
                              .environment = context.environment,
                              .settings = request.settings,
                              .grace = context.settings.get<"launch.grace">(),
                              .out = shown.out,
                              .err = shown.err,
                              .display = shown.display};
  if (stages(flags))
    if (const int code = stage_on_nodes(flags, launch, job, false)) return code;
  std::vector<launch::HostSlots> hosts;
  for (const launch::Host& host : plan.hosts) hosts.push_back({host.name, host.slots});
  const auto make = [&](const std::vector<launch::HostSlots>& these, int ranks, int attempt) {
    if (attempt > 1) launch.placement = placement_on(these, ranks, flags.oversubscribe);
    launch.rank_command = rank_command(request, launch, {.attempt = attempt, .relay = true});
    launch::RemoteJob next = job;
    next.command = launch_command(launch);
    next.ranks = launch.placement.ranks;
    next.hosts = launch.placement.hosts;
    next.append = attempt > 1;
    if (flags.node.verbose) context.log.info("starting {}", launch::shell_line(next.command));
    return next;
  };
  const int code = launch::run_remote_attempts(shown.restart, hosts, plan.placement.ranks, make);
  const int back = flags.node.unstage.empty() ? 0 : stage_on_nodes(flags, launch, job, true);
  return code != 0 ? code : back;
}

}  // namespace ronde::cli
