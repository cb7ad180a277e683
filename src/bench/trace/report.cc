// How long a report takes on the traces of a large run, and how much memory.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "ronde/base/error.h"
#include "ronde/base/text/units.h"
#include "ronde/bench/benchmarks.h"
#include "ronde/bench/detail/contestant.h"
#include "ronde/bench/detail/scratch_folder.h"
#include "ronde/report/testing/generate.h"
#include "ronde/trace/file/run.h"

namespace ronde::bench {
namespace {

namespace fs = std::filesystem;

constexpr int kRanks = 64, kSteps = 1000;
constexpr double kMostSeconds = 60, kMostGib = 2;
constexpr int kDayRanks = 4, kDaySteps = 86'400;  // of a second each
constexpr double kMostDayGib = 1, kMostPageMb = 5;

struct Cost {
  double seconds = 0, cpu_seconds = 0, gib = 0;
};

// What `work` takes in a process of its own, whose memory nobody else has used.
template <class Work>
Cost cost_of(const char* what, Work&& work) {
  const auto begin = std::chrono::steady_clock::now();
  const pid_t child = ::fork();
  if (child < 0) throw Error::system(errno, "cannot start a process to measure {}", what);
  if (child == 0) ::_exit(work());
  int status = 0;
  rusage usage{};
  while (::wait4(child, &status, 0, &usage) < 0)
    if (errno != EINTR) throw Error::system(errno, "cannot wait for the process that measures {}", what);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    throw Error(Error::Kind::System, fmt::format("{} failed on the generated traces (status {})", what, status));
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return {.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(),
          .cpu_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime),
          .gib = static_cast<double>(usage.ru_maxrss) / (1 << 20)};
}

int read_traces(const fs::path& folder) {
  try {
    const trace::Run run = trace::read_run(folder);
    return run.problems.empty() ? 0 : 1;
  } catch (const Error&) {
    return 2;
  }
}

// ronde report on the traces, with nothing on its standard output.
int report_traces(const fs::path& folder, const char* form) {
  if (!std::freopen("/dev/null", "w", stdout)) return 3;
  const std::string path = folder.string();
  ::execl(detail::ronde_program().c_str(), "ronde", "report", path.c_str(), form, nullptr);
  return 4;
}

report::testing::StepShape step_of_a_second() {
  return {.forward = 320'000'000, .backward = 620'000'000, .layers = 4};
}

struct Traces {
  int ranks = 0, steps = 0;
  report::testing::Generated made = {};
};
Traces make_traces(const fs::path& folder, int ranks, int steps, const report::testing::StepShape& shape,
                   const Options& options) {
  options.log.info("generating traces of {} ranks and {} steps in {}", ranks, steps, folder.string());
  return {.ranks = ranks,
          .steps = steps,
          .made = report::testing::generate(
              {.folder = folder, .ranks = ranks, .steps = steps, .shape = shape, .faults = {.jitter = 0.02}})};
}

void add(Report& report, const char* what, const Traces& traces, const Cost& cost) {
  report.rows.push_back({{"case", what},
                         {"ranks", traces.ranks},
                         {"steps", traces.steps},
                         {"bytes", traces.made.bytes},
                         {"seconds", cost.seconds},
                         {"cpu_seconds", cost.cpu_seconds},
                         {"mb_per_s", static_cast<double>(traces.made.bytes) / cost.seconds / 1e6},
                         {"peak_gib", cost.gib}});
}

void bar(Report& report, const char* key, const char* words, double value, double most) {
  report.bars.push_back({.key = key, .words = words, .value = value, .bar = most, .at_least = false});
}

// A day of training: far more than the memory that the report may take.
void report_a_day(Report& report, const Options& options) {
  const detail::ScratchFolder scratch(options.folder.empty() ? fs::temp_directory_path() : fs::path(options.folder));
  const Traces day = make_traces(scratch.path(), kDayRanks, kDaySteps, step_of_a_second(), options);
  const fs::path page = scratch.path() / "report.html";
  const std::string html = "--html=" + page.string();
  const Cost cost = cost_of("'ronde report'", [&] { return report_traces(scratch.path(), html.c_str()); });
  add(report, "ronde report, a day", day, cost);
  bar(report, "day_peak_gib", "GiB of memory at most, for a day", cost.gib, kMostDayGib);
  bar(report, "day_page_mb", "MB of the page", static_cast<double>(fs::file_size(page)) / 1e6, kMostPageMb);
}

int ranks_of(const Options& options) {
  if (options.ranks.empty()) return kRanks;
  if (options.ranks.size() > 1 || options.ranks[0] < 1)
    throw Error::bad_input("-n: this benchmark needs a single number of ranks, at least 1");
  return options.ranks[0];
}

}  // namespace

Report run_report(const Options& options) {
  if (!options.folder.empty() && !fs::is_directory(options.folder))
    throw Error::bad_input("--dir {}: no such folder", options.folder);
  const detail::ScratchFolder scratch(options.folder.empty() ? fs::temp_directory_path() : fs::path(options.folder));
  const Traces traces = make_traces(scratch.path(), ranks_of(options), kSteps, {}, options);
  Report report{.name = "report"};
  add(report, "reading", traces, cost_of("reading", [&] { return read_traces(scratch.path()); }));
  const Cost cost = cost_of("'ronde report'", [&] { return report_traces(scratch.path(), "--json"); });
  add(report, "ronde report --json", traces, cost);
  bar(report, "seconds", "seconds that 'ronde report' takes", cost.seconds, kMostSeconds);
  bar(report, "peak_gib", "GiB of memory at most", cost.gib, kMostGib);
  report_a_day(report, options);
  return report;
}

}  // namespace ronde::bench
