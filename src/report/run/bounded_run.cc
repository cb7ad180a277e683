#include "ronde/report/run/bounded_run.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ronde/base/error.h"
#include "ronde/base/system/mutex.h"
#include "ronde/base/text/format.h"
#include "ronde/base/text/units.h"
#include "ronde/report/export/step_filter.h"
#include "ronde/report/export/survey.h"
#include "ronde/report/run/step_weights.h"

namespace ronde::report {
namespace {

namespace fs = std::filesystem;
using trace::ReadEvent;
using trace::ReadTrack;
using trace::TimeRange;
using trace::TraceVisitor;
using Ranges = std::map<int, TimeRange>;  // of ranks, by the clocks of their files

// What an event takes in memory, with what the analysis makes of it: measured (docs/performance.md), and rounded up.
constexpr std::uint64_t kSpan = 48, kCollective = 160, kStep = 160, kCounter = 24;
constexpr std::int64_t kTick = 1'000'000;  // nanoseconds: runs without steps are weighed by the millisecond
// A file takes no more memory than so many times its size; smaller ones need not be weighed.
constexpr std::uint64_t kMostPerByte = 4;
// The rest is for the program itself, its libraries and the page.
constexpr std::uint64_t room_for_events(std::uint64_t memory) {
  return memory / 4 * 3;
}

struct Weights {
  StepWeights steps;
  bool has_steps = false;  // asked for or not
  StepWeights ticks;  // of time before the first step, by the clocks of the files: all there is in a run without steps

  void add(const Weights& other) {
    steps.add(other.steps);
    ticks.add(other.ticks);
    has_steps = has_steps || other.has_steps;
  }
};

// Adds up what the events of a file take. Rows are written in turns, so an event counts for the step that its rank was
// last seen in, or for the first.
class Weigher final : public TraceVisitor {
 public:
  explicit Weigher(const StepWindow& steps) : window_(steps) {}

  void track(const ReadTrack& track) override {
    const bool steps = track.kind == ReadTrack::Kind::Other && track.name == "steps";
    rows_[track.uuid] = steps ? Row::Steps : track.name.starts_with("move: ") ? Row::Moves : Row::Other;
  }
  void event(const ReadEvent& event) override {
    const auto row = rows_.find(event.track);
    if (row == rows_.end()) return;
    Rank& rank = ranks_[event.rank];
    if (row->second == Row::Steps && event.type == ReadEvent::Type::Begin) begin_step(event, rank);
    const std::uint64_t weight = weight_of(event, row->second);
    rank.weight += weight;
    if (!rank.step && weight > 0) weights_.ticks.add(event.time / kTick, weight);
  }

  Weights take() {
    for (auto& [number, rank] : ranks_) count(rank);
    return std::move(weights_);
  }

 private:
  enum class Row { Steps, Moves, Other };
  struct Rank {
    std::optional<std::int64_t> step = {};
    std::uint64_t weight = 0;  // since that began
  };

  void count(Rank& rank) {
    if (!rank.step) return;
    if (window_.contains(*rank.step)) weights_.steps.add(*rank.step, rank.weight);
    rank.weight = 0;
  }
  void begin_step(const ReadEvent& event, Rank& rank) {
    weights_.has_steps = true;
    count(rank);
    for (const trace::ReadArg& arg : event.args)
      if (const auto* number = std::get_if<std::int64_t>(&arg.value); number && arg.key == "step") rank.step = *number;
  }
  static std::uint64_t weight_of(const ReadEvent& event, Row row) {
    if (event.type == ReadEvent::Type::Counter) return kCounter;
    if (event.type != ReadEvent::Type::Begin) return 0;
    return row == Row::Steps ? kStep : row == Row::Moves ? kCollective : kSpan;
  }

  const StepWindow window_;
  std::unordered_map<std::uint64_t, Row> rows_;
  std::unordered_map<int, Rank> ranks_;
  Weights weights_;
};

// What goes on beyond the window ends with it.
class EndsInside final : public TraceVisitor {
 public:
  EndsInside(const Ranges& ranges, TraceVisitor& to) : ranges_(ranges), to_(to) {}

  void track(const ReadTrack& track) override { to_.track(track); }
  void clocks(const trace::ReadClocks& clocks) override { to_.clocks(clocks); }
  void event(const ReadEvent& event) override {
    const auto range = event.type == ReadEvent::Type::End ? ranges_.find(event.rank) : ranges_.end();
    if (range == ranges_.end() || event.time <= range->second.end) return to_.event(event);
    ReadEvent earlier = event;
    earlier.time = range->second.end;
    to_.event(earlier);
  }

 private:
  const Ranges& ranges_;
  TraceVisitor& to_;
};

class WindowFilter final : public TraceVisitor {
 public:
  WindowFilter(const Ranges& ranges, TraceVisitor& to) : ends_(ranges, to), filter_(ranges, ends_) {}

  void track(const ReadTrack& track) override { filter_.track(track); }
  void event(const ReadEvent& event) override { filter_.event(event); }
  void clocks(const trace::ReadClocks& clocks) override { filter_.clocks(clocks); }

 private:
  EndsInside ends_;
  exporting::StepFilter filter_;
};

// Files are read as far as they make sense; what is wrong with them is told when they are read for good.
template <class Visitor>
void read_all(const std::vector<fs::path>& files, int threads, const StepWindow& steps,
              const std::function<void(Visitor&)>& use) {
  std::atomic<std::size_t> next{0};
  Mutex mutex;  // one at a time
  const auto work = [&] {
    for (std::size_t i = next++; i < files.size(); i = next++) {
      Visitor visitor(steps);
      try {
        trace::read_trace(files[i], visitor);
      } catch (const Error&) {
      }
      const Lock lock(mutex);
      use(visitor);
    }
  };
  const std::size_t wanted =
      threads > 0 ? static_cast<std::size_t>(threads) : std::max<std::size_t>(1, std::thread::hardware_concurrency());
  std::vector<std::jthread> helpers;
  for (std::size_t i = 1; i < std::min(wanted, files.size()); ++i) helpers.emplace_back(work);
  work();
}

Ranges ranges_of_steps(const std::vector<fs::path>& files, int threads, const StepWindow& steps) {
  Ranges ranges;
  read_all<exporting::Survey>(files, threads, steps, [&](exporting::Survey& survey) {
    for (const auto& [number, rank] : survey.ranks())
      if (rank.steps) ranges.try_emplace(number, *rank.steps);
  });
  return ranges;
}

std::uint64_t size_of(const std::vector<fs::path>& files) {
  std::uint64_t sum = 0;
  for (const fs::path& file : files) {
    std::error_code failure;
    const auto size = fs::file_size(file, failure);
    if (!failure) sum += size;
  }
  return sum;
}

// The same stretch of time of each rank.
Ranges ranges_of_time(const std::vector<fs::path>& files, int threads, TimeRange time) {
  Ranges ranges;
  read_all<exporting::Survey>(files, threads, {}, [&](exporting::Survey& survey) {
    for (const auto& [number, rank] : survey.ranks()) ranges.try_emplace(number, time);
  });
  return ranges;
}

std::string too_long_text(const BoundedOptions& options) {
  return fmt::format("the trace is too long to be analysed in {} of memory: this report covers",
                     format_bytes(options.memory));
}

BoundedRun read_ranges(const fs::path& source, const BoundedOptions& options, const Ranges& ranges) {
  return {.run = trace::read_run(
              source, {.threads = options.threads,
                       .filter = [&](TraceVisitor& to) { return std::make_unique<WindowFilter>(ranges, to); }}),
          .steps = options.steps};
}

BoundedRun read_steps(const fs::path& source, const BoundedOptions& options, const StepWeights& weights,
                      std::uint64_t room) {
  const bool fits = weights.total() <= room;
  const StepWindow all = *weights.steps(), taken = fits ? all : *weights.middle(room);
  BoundedRun found = read_ranges(source, options, ranges_of_steps(trace::trace_files(source), options.threads, taken));
  if (fits) return found;
  found.steps = taken;
  found.left_out = fmt::format(
      "{} steps {} to {}, from the middle of {} to {} (choose others with --steps, or allow "
      "more with --memory)",
      too_long_text(options), *taken.first, *taken.last, *all.first, *all.last);
  return found;
}

BoundedRun read_time(const fs::path& source, const BoundedOptions& options, const StepWeights& weights,
                     std::uint64_t room) {
  const StepWindow all = *weights.steps(), taken = *weights.middle(room);
  const auto length = [](const StepWindow& ticks) {
    return format_duration(std::chrono::nanoseconds((*ticks.last - *ticks.first + 1) * kTick));
  };
  BoundedRun found = read_ranges(
      source, options,
      ranges_of_time(trace::trace_files(source), options.threads, {*taken.first * kTick, (*taken.last + 1) * kTick}));
  found.left_out = fmt::format("{} {} from the middle of {} (allow more with --memory)", too_long_text(options),
                               length(taken), length(all));
  return found;
}

}  // namespace

BoundedRun read_bounded(const fs::path& source, const BoundedOptions& options) {
  const auto whole = [&] {
    return BoundedRun{.run = trace::read_run(source, {.threads = options.threads}), .steps = options.steps};
  };
  const std::vector<fs::path> files = trace::trace_files(source);
  if (options.memory == 0 || size_of(files) <= options.memory / kMostPerByte) return whole();
  Weights weights;
  read_all<Weigher>(files, options.threads, options.steps, [&](Weigher& file) { weights.add(file.take()); });
  const std::uint64_t room = room_for_events(options.memory);
  if (!weights.has_steps)
    return weights.ticks.total() > room ? read_time(source, options, weights.ticks, room) : whole();
  if (!weights.steps.steps() || (weights.steps.total() <= room && options.steps == StepWindow{})) return whole();
  return read_steps(source, options, weights.steps, room);
}

}  // namespace ronde::report
