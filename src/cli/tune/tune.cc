#include "ronde/cli/tune/tune.h"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <poll.h>

#include <CLI/CLI.hpp>

#include "ronde/base/error.h"
#include "ronde/base/text/format.h"
#include "ronde/base/text/text.h"
#include "ronde/base/text/units.h"
#include "ronde/cli/run/deadline.h"
#include "ronde/cli/tune/tune_display.h"
#include "ronde/launch/process/descendants.h"
#include "ronde/launch/process/guarded.h"
#include "ronde/launch/process/signals.h"
#include "ronde/launch/process/spawn.h"
#include "ronde/launch/run/outcome.h"
#include "ronde/tune/command/command_worker.h"
#include "ronde/tune/command/placeholders.h"
#include "ronde/tune/command/search_file.h"
#include "ronde/tune/run/runner.h"

namespace ronde::cli {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr int kInterrupted = 130;
constexpr auto kMargin = seconds(5);  // for all processes to end, between the search's own end and the job's

struct TuneFlags {
  std::string file, deadline;
  std::vector<std::pair<std::string, std::string>> values;  // by key of [tune]
  std::vector<std::string> stop;                            // NAME=VALUE
};

// As the file would have it: a number where it is one.
tune::Json value_of(const std::string& text) {
  tune::Json value = tune::Json::parse(text, nullptr, false);
  return value.is_number() ? value : tune::Json(text);
}

std::string content_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw Error::bad_input("'{}' cannot be opened", file);
  return (std::ostringstream() << in.rdbuf()).str();
}

// The file's table with what the flags say in its place.
tune::SearchFile read_file(const TuneFlags& flags) {
  tune::Json table = tune::read_tune_table(content_of(flags.file), flags.file);
  for (const auto& [key, text] : flags.values) table[key] = value_of(text);
  for (const std::string& limit : flags.stop) {
    const auto equals = limit.find('=');
    const auto number = equals == limit.npos ? std::nullopt : parse_number<double>(limit.substr(equals + 1));
    if (!number) throw Error::bad_input("--stop {}: write NAME=NUMBER, such as training_iteration=50", limit);
    table["stop"][limit.substr(0, equals)] = *number;
  }
  return tune::search_file(table, flags.file);
}

// How long the search may go on before the job's end; 0: no end is known.
nanoseconds time_until_deadline(const TuneFlags& flags, const Context& context) {
  if (!flags.deadline.empty()) return std::max<nanoseconds>(parse_duration(flags.deadline), nanoseconds(1));
  const auto end = job_deadline(context);
  if (!end) return nanoseconds(0);
  const auto left = seconds(*end) - std::chrono::system_clock::now().time_since_epoch();
  return std::max<nanoseconds>(left - context.settings.get<"launch.grace">() - kMargin, nanoseconds(1));
}

struct Job {
  std::filesystem::path folder;
  tune::SearchFile file;
  tune::CommandOptions command;
  nanoseconds deadline{0};
};

Job job_of(const TuneFlags& flags, const RunLine& line, const Context& context) {
  if (flags.file.empty()) throw Error::bad_input("missing file of a search: ronde tune SPACE.toml -- COMMAND");
  if (line.command.empty())
    throw Error::bad_input("missing command: ronde tune {} -- python train.py --lr {{lr}}", flags.file);
  Job job{.folder = context.settings.get<"output.dir">(), .file = read_file(flags), .command = {}};
  if (job.folder.empty())
    job.folder = std::filesystem::path("ronde-output/tune") / std::filesystem::path(flags.file).stem();
  job.folder = std::filesystem::absolute(job.folder);
  if (job.file.concurrency == 0) job.file.concurrency = static_cast<int>(std::thread::hardware_concurrency());
  tune::SearchOptions& options = job.file.options;
  options.slots = job.file.concurrency;
  options.can_save = false;  // a command keeps its checkpoints for itself
  options.command = line.command;
  tune::check_placeholders(line.command, tune::Space::parse(options.space));
  job.command = {.program = launch::detail::find_program(line.command.front(), context.environment),
                 .words = line.command,
                 .environment = context.environment.all(),
                 .metric = options.metric,
                 .grace = context.settings.get<"launch.grace">()};
  job.deadline = time_until_deadline(flags, context);
  return job;
}

// Ctrl-C and SIGTERM, and that the process that the user sees has died.
class Stop {
 public:
  explicit Stop(int lifeline) : lifeline_(lifeline) {}

  bool has_come() {
    while (const auto signal = signals_.next())
      if (!first_) first_ = static_cast<int>(signal->ssi_signo);
    pollfd end{lifeline_, POLLIN, 0};
    return first_ || ::poll(&end, 1, 0) > 0;
  }
  int exit_code() const { return first_ == SIGINT ? kInterrupted : launch::kToBeContinued; }
  const launch::detail::Signals& signals() const { return signals_; }

 private:
  launch::detail::Signals signals_{SIGINT, SIGTERM, SIGHUP, SIGUSR1};
  const int lifeline_;
  std::optional<int> first_;
};

tune::RunOptions run_options(Job& job, Stop& stop, TuneDisplay& display, std::vector<pid_t>& workers) {
  job.command.restore_signals = [&stop] { stop.signals().restore(); };
  return {.folder = job.folder,
          .slots = job.file.concurrency,
          .trial_timeout = job.file.trial_timeout,
          .time_budget = job.file.time_budget,
          .deadline = job.deadline,
          .grace = job.command.grace + seconds(1),
          .start_worker =
              [&](int slot) {
                workers.resize(std::max(workers.size(), static_cast<std::size_t>(slot) + 1), -1);
                pid_t& worker = workers[static_cast<std::size_t>(slot)];
                worker = -1;  // it has died; what it had started came to us
                launch::detail::end_children_but(workers);
                tune::WorkerProcess process = tune::start_command_worker(job.command);
                worker = process.pid;
                return process;
              },
          .stops = {},
          .show = [&](const tune::Search& search, bool is_end) { display.show(search, is_end); },
          .warn = [&](const std::string& text) { display.say("tune: warning: " + text); },
          .interrupted = [&] { return stop.has_come(); }};
}

// The last words: what was found.
int finish(const tune::RecordedSearch& search, const Job& job, tune::RunEnd end, const Stop& stop) {
  if (const auto best = search.search().best()) {
    const tune::Trial& trial = search.search().trials()[static_cast<std::size_t>(*best)];
    fmt::print("{}\n", trial.config.dump(-1, ' ', false, tune::Json::error_handler_t::replace));
  }
  if (end == tune::RunEnd::ToContinue) {
    fmt::print(stderr, "tune: the search goes on when this command is started again; its journal is in {}\n",
               job.folder.string());
    return stop.exit_code();
  }
  const tune::TrialCounts& counts = search.search().counts();
  return counts.failed > 0 && counts.terminated == 0 ? 1 : 0;
}

int search_for(const TuneFlags& flags, const RunLine& line, const Context& context) {
  Job job = job_of(flags, line, context);
  std::filesystem::create_directories(job.folder);
  return launch::detail::guarded([&](int lifeline) {
    Stop stop(lifeline);
    tune::RecordedSearch search(job.folder / "journal.jsonl", job.file.options);
    TuneDisplay display({.done_before = search.search().counts().done(), .time_budget = job.file.time_budget});
    if (search.resumed_trials() > 0)
      display.say(fmt::format("tune: going on with {} trials in {}", search.resumed_trials(), job.folder.string()));
    std::vector<pid_t> workers;
    const tune::RunOptions options = run_options(job, stop, display, workers);
    return finish(search, job, run_search(search, options), stop);
  });
}

template <class Entry>
std::string names_of(const std::vector<Entry>& entries) {
  std::vector<std::string> names;
  for (const Entry& entry : entries) names.emplace_back(entry.name);
  return join(names, ", ");
}

void add_flags(CLI::App& app, const std::shared_ptr<TuneFlags>& flags) {
  app.add_option("SPACE", flags->file, "TOML file with the table [tune]: the space, and how it is searched");
  const auto add = [&](const std::string& flag, const std::string& key, const std::string& help, const char* type) {
    app.add_option_function<std::string>(
           flag, [flags, key](const std::string& text) { flags->values.emplace_back(key, text); }, help)
        ->type_name(type);
  };
  add("--metric", "metric", "What trials are compared by: a name in their JSON lines", "NAME");
  add("--mode", "mode", "Whether the metric is to be large (max, the default) or small (min)", "MODE");
  add("--samples", "samples", "Trials per point of the grids; -1: until --time-budget is over", "N");
  add("--sampler", "sampler", "How new configurations are drawn: " + names_of(tune::sampler_entries()), "NAME");
  add("--scheduler", "scheduler", "Which trials go on: " + names_of(tune::scheduler_entries()), "NAME");
  add("--seed", "seed", "Seed of all that is drawn", "N");
  add("--concurrency", "concurrency", "Trials at once; default: one per core", "N");
  add("--max-failures", "max_failures", "How often a trial that fails is started again; -1: always", "N");
  add("--trial-timeout", "trial_timeout", "A trial that reports nothing for this long has failed: 5min", "TIME");
  add("--time-budget", "time_budget", "End the search after this time: 2h", "TIME");
  app.add_option("--stop", flags->stop, "End each trial when a value is reached: training_iteration=50")
      ->type_name("NAME=VALUE")
      ->expected(1);
  app.add_option("--deadline", flags->deadline,
                 "Stop after this time with exit code 75, to be continued; default: what the batch system leaves")
      ->type_name("TIME");
}

}  // namespace

void add_tune(CLI::App& app, const RunLine& line, std::function<int(const Context&)>& command) {
  auto flags = std::make_shared<TuneFlags>();
  CLI::App* tune = app.get_subcommand("tune");
  add_flags(*tune, flags);
  add_tune_list(*tune, command);
  add_tune_export(*tune, command);
  add_tune_report(*tune, command);
  tune->footer("The command follows --: ronde tune space.toml -- python train.py --lr {lr}");
  tune->callback([&command, &line, flags, tune] {
    if (!tune->get_subcommands().empty()) return;
    command = [flags, &line](const Context& context) { return search_for(*flags, line, context); };
  });
}

}  // namespace ronde::cli
