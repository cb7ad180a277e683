#include "ronde/cli/run/run.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string_view>
#include <utility>

#include <unistd.h>

#include <CLI/CLI.hpp>

#include "ronde/base/error.h"
#include "ronde/base/text/terminal.h"
#include "ronde/base/text/text.h"
#include "ronde/base/text/units.h"
#include "ronde/cli/run/deadline.h"
#include "ronde/cli/run/run_flags.h"
#include "ronde/launch/horovod/horovod_shim.h"
#include "ronde/launch/horovod/horovodrun.h"
#include "ronde/launch/place/visible_gpus.h"
#include "ronde/launch/run/job.h"
#include "ronde/launch/run/rank_environment.h"
#include "ronde/topology/binding.h"
#include "ronde/topology/host.h"
#include "ronde/topology/machine.h"

namespace ronde::cli {
namespace {

// --check: each rank looks at its node before it would run the command.
std::vector<std::string> preflight_command(const std::vector<std::string>& command) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  std::vector<std::string> words{own_program(), "check-rank", "--begun",
                                 fmt::format("{}", std::chrono::nanoseconds(now).count()), "--"};
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

// Flags are for the ranks too; what comes from variables or a file reaches them by itself.
Environment::Variables settings_for_ranks(const Settings& settings) {
  Environment::Variables variables;
  for (std::size_t i = 0; i < kSettings.size(); ++i)
    if (const auto& entry = settings.entries()[i]; entry.origin.starts_with("--"))
      variables[variable_name(kSettings[i])] = entry.text;
  return variables;
}

// A Python program whose trace is asked for is recorded as it is.
void add_python_trace(Environment::Variables& settings, const Context& context) {
  const std::string folder = launch::trace_python_path(own_program());
  if (context.settings.get<"trace.dir">().empty() || folder.empty()) return;
  settings["PYTHONPATH"] = launch::python_path(folder, context.environment.get("PYTHONPATH").value_or(""));
}

// The batch system's end of the job, for programs that want to stop in time.
void add_deadline(Environment::Variables& settings, const Context& context) {
  if (const auto end = job_deadline(context)) settings["RONDE_LAUNCH_DEADLINE"] = std::to_string(*end);
}

launch::RankCount rank_count(const RunFlags& flags) {
  return {.ranks = parse_count("-n", flags.ranks, kMostRanks),
          .per_host = parse_count("--ranks-per-node", flags.per_host, kMostRanksHere),
          .oversubscribe = flags.oversubscribe};
}

int start(const RunFlags& flags, const std::vector<std::string>& program, const Context& context) {
  const std::vector<std::string> command = flags.check ? preflight_command(program) : program;
  RunRequest request{.flags = flags,
                     .command = command,
                     .binding = binding_request(flags.node, 1, context.environment),
                     .settings = settings_for_ranks(context.settings)};
  const launch::HostPlan plan =
      launch::plan_hosts({.hosts = flags.hosts, .hostfile = flags.hostfile, .count = rank_count(flags)},
                         context.environment, topology::host_name(), launch::read_whole_file);
  for (const std::string& warning : plan.placement.warnings) context.log.warn("{}", warning);
  request.settings.merge(variables_for_ranks(flags.node));
  add_python_trace(request.settings, context);
  request.settings[launch::kJobVariable] = std::to_string(getpid());  // by which --where finds it on every node
  add_deadline(request.settings, context);
  return plan.here && flags.launcher == "auto" ? run_here(request, plan, context)
                                               : run_elsewhere(request, plan, context);
}

int run_or_print(const RunFlags& flags, const RunLine& line, const Context& context) {
  for (const std::string& note : line.notes) context.log.info("{}", note);
  if (flags.node.where) return run_where(*flags.node.where);
  if (flags.check_build) {
    fmt::print("{}", check_build_text(context));
    return 0;
  }
  if (!flags.script.empty()) {
    fmt::print("{}", script_text(flags, line));
    return 0;
  }
  return start(flags, line.command, context);
}

void add_where_flags(CLI::App& run, RunFlags& flags) {
  const std::string group = "Where ranks run";
  run.add_option("-n,--num-proc", flags.ranks, "Number of ranks (also -np); default: the number of slots of the hosts")
      ->type_name("N")
      ->group(group);
  run.add_option("-H,--hosts", flags.hosts, "Machines and their slots, as node1:4,node2:4")
      ->type_name("HOSTS")
      ->group(group);
  run.add_option("--hostfile", flags.hostfile, "The same from a file: 'node1 slots=4', 'node1:4', or one line per slot")
      ->type_name("FILE")
      ->group(group);
  run.add_option("--ranks-per-node", flags.per_host, "Slots per machine")->type_name("N")->group(group);
  run.add_flag("--check", flags.check,
               "Start nothing, but check in seconds whether it would run well: every rank, machine and link")
      ->group(group);
  run.add_flag("--oversubscribe", flags.oversubscribe, "Allow more ranks than slots")->group(group);
}

void add_launcher_flags(CLI::App& run, RunFlags& flags) {
  const std::string group = "How ranks on other machines are started";
  run.add_option("--launcher", flags.launcher, "Program that starts them: auto, mpirun, hydra, srun or jsrun")
      ->type_name("NAME")
      ->group(group);
  run.add_option("--mpi-args", flags.mpi_args, "More arguments for that program: --mpi-args '--mca btl tcp,self'")
      ->type_name("WORDS")
      ->group(group);
  run.add_option("--binding-args", flags.binding_args, "Let that program bind ranks, with these arguments")
      ->type_name("WORDS")
      ->group(group);
  run.add_flag("--tcp", flags.tcp, "Open MPI: use only TCP between machines")->group(group);
  run.add_flag("--dry-run", flags.dry_run,
               "Print the commands that would be started, ready to paste, and start nothing")
      ->group(group);
}

void add_container_flags(CLI::App& run, RunFlags& flags) {
  const std::string group = "Containers";
  run.add_option("--container", flags.container.image, "Run ranks in this image, with apptainer or singularity")
      ->type_name("IMAGE")
      ->group(group);
  run.add_option("--container-bind", flags.container.binds,
                 "Folder to mount in the container: /data or /data:/inside:ro")
      ->type_name("A:B")
      ->expected(1)
      ->group(group);
}

void add_script_flags(CLI::App& run, RunFlags& flags) {
  const std::string group = "Batch scripts";
  run.add_option("--script", flags.script, "Print a script for slurm, lsf or pbs that does this, and start nothing")
      ->type_name("SYSTEM")
      ->group(group);
  run.add_option("--nodes", flags.nodes, "Number of machines (or: -n and --ranks-per-node)")
      ->type_name("N")
      ->group(group);
  run.add_option("--time", flags.time, "Time limit, as 90min or 2h; default 1h")->type_name("TIME")->group(group);
  run.add_option("--gpus-per-node", flags.gpus, "GPUs per machine; default: none")->type_name("N")->group(group);
  run.add_option("--account", flags.account, "Account to charge")->type_name("NAME")->group(group);
  run.add_option("--queue", flags.queue, "Queue or partition")->type_name("NAME")->group(group);
  run.add_option("--job-name", flags.job_name, "Name of the job; default: ronde")->type_name("NAME")->group(group);
}

void add_horovod_flags(CLI::App& run, RunFlags& flags) {
  const std::string group = "Flags of horovodrun (all its other flags are understood too)";
  run.add_flag(
         "--horovod", flags.horovod,
         "For Python scripts that import horovod: they get Ronde instead, with HOROVOD_RANK and similar variables")
      ->group(group);
  run.add_flag("--check-build", flags.check_build,
               "Print what is built in and which launchers are installed (also -cb)")
      ->group(group);
  run.add_option("--config-file", flags.config_file, "Flags of horovodrun from a YAML file")
      ->type_name("FILE")
      ->group(group);
}

void check_command(const RunFlags& flags, const RunLine& line) {
  parse_count("-n", flags.ranks, kMostRanks);
  if (!line.command.empty() || flags.check) return;
  if (flags.ranks.empty())
    throw Error::bad_input("missing number of ranks and command: ronde run -n 4 python train.py");
  throw Error::bad_input("missing command: ronde run -n {} python train.py", flags.ranks);
}

}  // namespace

int parse_count(const std::string& flag, const std::string& text, int most) {
  if (text.empty()) return 0;
  const auto number = parse_number<int>(text);
  if (!number || *number < 1 || *number > most)
    throw Error::bad_input("{} {}: write a whole number from 1 to {}", flag, text, most);
  return *number;
}

std::string own_program() {
  return std::filesystem::read_symlink("/proc/self/exe").string();
}

launch::Stream stream_of(std::FILE* file, const Context& context) {
  return {.descriptor = fileno(file),
          .color = Paint::choose(context.settings.get<"cli.color">(), file, context.environment).on(),
          .terminal = is_terminal(file)};
}

int run_here(const RunRequest& request, const launch::HostPlan& plan, const Context& context) {
  const topology::Machine machine = launch::with_visible_gpus(topology::discover(), context.environment);
  topology::BindingRequest binding = request.binding;
  binding.ranks = plan.placement.ranks;
  if (binding.ranks > kMostRanksHere)
    throw Error::bad_input("{} ranks exceed the limit of one machine, {}", binding.ranks, kMostRanksHere);
  launch::Job job{.command = launch::in_container(request.flags.container, request.command, !machine.gpus.empty(),
                                                  context.environment),
                  .binding = topology::plan_binding(machine, binding),
                  .host = machine.hostname,
                  .environment = context.environment,
                  .settings = request.settings,
                  .horovod = {},
                  .grace = context.settings.get<"launch.grace">(),
                  .out = stream_of(stdout, context),
                  .err = stream_of(stderr, context)};
  apply(request.flags.node, job);
  if (request.flags.horovod)
    job.horovod = {.host = machine.hostname, .python_path = launch::horovod_python_path(own_program())};
  if (request.flags.dry_run) {
    fmt::print("{}", describe_here(job, context));
    return 0;
  }
  show_binding(request.flags.node, job.binding, context);
  return run_staged(request.flags.node, std::move(job), context);
}

void add_run(CLI::App& app, const RunLine& line, std::function<int(const Context&)>& command) {
  auto flags = std::make_shared<RunFlags>();
  CLI::App* run = app.get_subcommand("run");
  add_where_flags(*run, *flags);
  add_node_flags(*run, flags->node);
  add_launcher_flags(*run, *flags);
  add_container_flags(*run, *flags);
  add_script_flags(*run, *flags);
  add_horovod_flags(*run, *flags);
  run->footer(
      "ronde run -n N [OPTIONS] [--] COMMAND [ARGUMENTS...]\n"
      "Example: ronde run -n 4 python train.py --epochs 10\n"
      "Inside a job of Slurm, LSF or PBS the job's machines and ranks are used: ronde run python train.py\n"
      "All arguments after the command are passed to it. Ranks find RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and\n"
      "MASTER_PORT in their environment, as torchrun sets them. The first rank that fails stops the others.");
  run->callback([flags, &line, &command] {
    if (!flags->check_build && !flags->node.where) check_command(*flags, line);
    command = [flags, &line](const Context& context) { return run_or_print(*flags, line, context); };
  });
}

}  // namespace ronde::cli
