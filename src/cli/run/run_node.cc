#include "ronde/cli/run/run_node.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cstdio>

#include <CLI/CLI.hpp>

#include "ronde/base/error.h"
#include "ronde/base/text/terminal.h"
#include "ronde/base/text/text.h"
#include "ronde/launch/place/where.h"
#include "ronde/topology/draw.h"
#include "ronde/topology/host.h"

namespace ronde::cli {
namespace {

constexpr int kMostThreads = 4096;
constexpr int kMostRestarts = 1000;
constexpr int kMostRanks = 1 << 20;
constexpr std::size_t kRowsThatAnnoyNobody = 16;

int columns_of(int descriptor) {
  winsize size{};
  return ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

// OMP_NUM_THREADS may be a list, one number a level of nesting; the first counts.
int threads_of_user(const Environment& environment) {
  const std::string text = environment.get("OMP_NUM_THREADS").value_or("");
  const auto threads = parse_number<int>(trim(split(text, ',').front()));
  return threads && *threads > 0 && *threads <= kMostThreads ? *threads : 0;
}

void add_output_flags(CLI::App& run, NodeFlags& flags) {
  const std::string group = "Output";
  run.add_option("--where", flags.where,
                 "Check on which cpus the threads of a running job are; without a number, of all jobs")
      ->expected(0, 1)
      ->type_name("[PID|JOB]")
      ->group(group);
  run.add_option("--output-dir,--output-filename", flags.output_dir,
                 "Folder for files rank.N.out and rank.N.err with the output of each rank")
      ->type_name("DIR")
      ->group(group);
  run.add_flag("--quiet", flags.quiet, "Show only the output of rank 0, and the last lines of a rank that fails")
      ->group(group);
  run.add_flag("--prefix-timestamp,--prefix-output-with-timestamp", flags.timestamps,
               "Put the time in front of every line")
      ->group(group);
  run.add_flag("--verbose", flags.verbose, "Always show the table of which rank has which cores")->group(group);
}

void add_restart_flags(CLI::App& run, NodeFlags& flags) {
  const std::string group = "After a failure";
  run.add_option("--restart", flags.restarts, "Start again after a failure, at most N times, with a growing delay")
      ->check(CLI::Range(0, kMostRestarts).description(""))
      ->type_name("N")
      ->group(group);
  run.add_option("--min-n", flags.min_ranks, "Allow a restart with as few as N ranks, without the node that failed")
      ->check(CLI::Range(1, kMostRanks).description(""))
      ->type_name("N")
      ->group(group);
}

}  // namespace

void add_binding_flags(CLI::App& app, NodeFlags& flags) {
  const std::string group = "Which cores ranks get";
  app.add_option("--bind", flags.bind, "Which cores a rank gets: auto, none, core, numa, socket or gpu")
      ->type_name("POLICY")
      ->group(group);
  app.add_option("--threads", flags.threads, "Compute threads per rank; default: OMP_NUM_THREADS, or as many as fit")
      ->check(CLI::Range(1, kMostThreads).description(""))
      ->type_name("N")
      ->group(group);
  app.add_option("--hyperthreads", flags.hyperthreads,
                 "Further hardware threads of a core: use them, or leave them idle")
      ->check(CLI::IsMember({"use", "idle"}).description(""))
      ->type_name("use|idle")
      ->group(group);
  app.add_flag("--pin-threads", flags.pin_threads,
               "Bind each OpenMP thread to one core; other threads that the main thread starts then share its core")
      ->group(group);
}

void add_stage_flags(CLI::App& app, NodeFlags& flags) {
  const std::string group = "Data on the node";
  app.add_option("--stage", flags.stage,
                 "Copy a file or folder, or unpack a tar or zip, to the node before the start; ranks find it as "
                 "$STAGE_DIR or {stage}")
      ->allow_extra_args(false)
      ->type_name("SRC[:DEST]")
      ->group(group);
  app.add_option("--unstage", flags.unstage,
                 "Copy a folder of results back afterwards; ranks find it as $UNSTAGE_DIR or {unstage}")
      ->allow_extra_args(false)
      ->type_name("WHAT[:WHERE]")
      ->group(group);
  app.add_option("--stage-to", flags.stage_to,
                 "Folder on the node for both, such as /dev/shm; default: SLURM_TMPDIR, TMPDIR or /tmp")
      ->type_name("DIR")
      ->group(group);
}

void add_node_flags(CLI::App& run, NodeFlags& flags) {
  add_binding_flags(run, flags);
  add_output_flags(run, flags);
  add_stage_flags(run, flags);
  add_restart_flags(run, flags);
}

std::vector<std::string> binding_words(const NodeFlags& flags) {
  std::vector<std::string> words{"--bind", flags.bind};
  if (flags.hyperthreads != NodeFlags().hyperthreads) words.insert(words.end(), {"--hyperthreads", flags.hyperthreads});
  if (flags.threads > 0) words.insert(words.end(), {"--threads", std::to_string(flags.threads)});
  if (flags.pin_threads) words.emplace_back("--pin-threads");
  return words;
}

std::vector<std::string> stage_words(const NodeFlags& flags) {
  std::vector<std::string> words;
  for (const std::string& item : flags.stage) words.insert(words.end(), {"--stage", item});
  for (const std::string& item : flags.unstage) words.insert(words.end(), {"--unstage", item});
  if (!flags.stage_to.empty()) words.insert(words.end(), {"--stage-to", flags.stage_to});
  return words;
}

topology::BindingRequest binding_request(const NodeFlags& flags, int ranks, const Environment& environment) {
  return {.ranks = ranks,
          .policy = topology::parse_policy(flags.bind),
          .threads = flags.threads > 0 ? flags.threads : threads_of_user(environment),
          .hardware_threads = flags.hyperthreads == "use",
          .pin_threads = flags.pin_threads};
}

Environment::Variables variables_for_ranks(const NodeFlags& flags) {
  Environment::Variables variables;
  if (flags.threads > 0) variables["OMP_NUM_THREADS"] = std::to_string(flags.threads);
  return variables;
}

launch::Display display_of(const NodeFlags& flags) {
  return {.folder = flags.output_dir, .quiet = flags.quiet, .timestamps = flags.timestamps};
}

void apply(const NodeFlags& flags, launch::Job& job) {
  job.settings.merge(variables_for_ranks(flags));
  job.display = display_of(flags);
  job.restart = {.most = flags.restarts, .min_ranks = flags.min_ranks};
  for (launch::Stream* stream : {&job.out, &job.err})
    if (stream->terminal) stream->columns = columns_of(stream->descriptor);
}

void show_binding(const NodeFlags& flags, const topology::BindingPlan& plan, const Context& context) {
  for (const std::string& warning : plan.warnings) context.log.warn("{}", warning);
  const bool told = parse_log_level(context.settings.get<"log.level">()) <= LogLevel::Info && !flags.quiet;
  const bool table = plan.ranks.size() > 1 && plan.ranks.size() <= kRowsThatAnnoyNobody && is_terminal(stderr);
  if (flags.verbose || (told && table))
    fmt::print(stderr, "{}\n{}", topology::summary(plan), topology::draw(plan));
  else if (plan.ranks.size() > 1 && plan.warnings.empty() && !flags.quiet)
    context.log.info("{}{}", topology::summary(plan), is_terminal(stderr) ? "; --verbose lists them" : "");
}

launch::StageOptions stage_options(const NodeFlags& flags, const std::string& job, const Context& context) {
  return {.stage = flags.stage,
          .unstage = flags.unstage,
          .to = flags.stage_to,
          .job = job,
          .environment = context.environment,
          .err = {.descriptor = fileno(stderr), .terminal = is_terminal(stderr)}};
}

int run_staged(const NodeFlags& flags, launch::Job job, const Context& context) {
  launch::Staging staging(stage_options(flags, std::to_string(getpid()), context));
  const bool comes_with_data = job.command.front().find("{stage") != std::string::npos;
  if (!comes_with_data) launch::check_command(job);
  job.command = staging.substituted(std::move(job.command));
  job.settings.merge(staging.variables());
  if (const int stopped = staging.bring_in()) return stopped;
  int code = 0;
  try {
    code = launch::run_job(job);
  } catch (const Error&) {
    staging.bring_back();
    throw;
  }
  try {
    const int back = staging.bring_back();
    return code != 0 ? code : back;
  } catch (const Error& error) {
    if (code == 0) throw;
    context.log.error("{}", error.what());  // the job's own failure is what counts
    return code;
  }
}

int run_where(const std::string& which) {
  const auto processes = launch::choose_job(launch::running_ranks(), which);
  if (processes.empty())
    fmt::print(
        "you have no running jobs on {}\
",
        topology::host_name());
  fmt::print("{}", launch::describe_placements(processes));
  for (const launch::RankProcess& process : processes)
    if (!launch::stray_threads(process).empty()) return 1;
  return 0;
}

}  // namespace ronde::cli
