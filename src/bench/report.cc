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
#include "ronde/base/units.h"
#include "ronde/bench/benchmarks.h"
#include "ronde/bench/detail/contestant.h"
#include "ronde/bench/detail/scratch_folder.h"
#include "ronde/report/testing/generate.h"
#include "ronde/trace/run.h"

namespace ronde::bench {
namespace {

namespace fs = std::filesystem;

constexpr int kRanks = 64, kSteps = 1000;
constexpr double kMostSeconds = 60, kMostGib = 2;

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

// `ronde report` on the traces, with nothing on its standard output.
int report_traces(const fs::path& folder) {
  if (!std::freopen("/dev/null", "w", stdout)) return 3;
  const std::string path = folder.string();
  ::execl(detail::ronde_program().c_str(), "ronde", "report", path.c_str(), "--json", nullptr);
  return 4;
}

int ranks_of(const Options& options) {
  if (options.ranks.empty()) return kRanks;
  if (options.ranks.size() > 1 || options.ranks[0] < 1) throw Error::bad_input("-n: one number of ranks, 1 or more");
  return options.ranks[0];
}

}  // namespace

Report run_report(const Options& options) {
  if (!options.folder.empty() && !fs::is_directory(options.folder))
    throw Error::bad_input("--dir {}: no such folder", options.folder);
  const detail::ScratchFolder scratch(options.folder.empty() ? fs::temp_directory_path() : fs::path(options.folder));
  const int ranks = ranks_of(options);
  options.log.info("traces of {} ranks and {} steps are made in {}", ranks, kSteps, scratch.path().string());
  const auto made = report::testing::generate(
      {.folder = scratch.path(), .ranks = ranks, .steps = kSteps, .faults = {.jitter = 0.02}});
  Report report{.name = "report"};
  const auto add = [&](const char* what, const Cost& cost) {
    report.rows.push_back({{"case", what},
                           {"ranks", ranks},
                           {"steps", kSteps},
                           {"bytes", made.bytes},
                           {"seconds", cost.seconds},
                           {"cpu_seconds", cost.cpu_seconds},
                           {"mb_per_s", static_cast<double>(made.bytes) / cost.seconds / 1e6},
                           {"peak_gib", cost.gib}});
  };
  add("reading", cost_of("reading", [&] { return read_traces(scratch.path()); }));
  const Cost cost = cost_of("'ronde report'", [&] { return report_traces(scratch.path()); });
  add("ronde report --json", cost);
  report.bars.push_back({.key = "seconds",
                         .words = "seconds that 'ronde report' takes",
                         .value = cost.seconds,
                         .bar = kMostSeconds,
                         .at_least = false});
  report.bars.push_back(
      {.key = "peak_gib", .words = "GiB of memory at most", .value = cost.gib, .bar = kMostGib, .at_least = false});
  return report;
}

}  // namespace ronde::bench
