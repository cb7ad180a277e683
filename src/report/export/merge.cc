#include "ronde/report/export/merge.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_set>
#include <utility>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"
#include "ronde/report/export/sink.h"
#include "ronde/report/export/step_filter.h"
#include "ronde/report/export/survey.h"

namespace ronde::report::exporting {
namespace {

namespace fs = std::filesystem;
using trace::ReadEvent;
using trace::ReadTrack;

// A rank, the file that counts for it, and how its times become those of all.
struct Placed {
  std::size_t file = 0;
  RankSurvey survey = {};
  std::int64_t shift = 0;  // after its own clock

  std::int64_t shared(std::int64_t time) const { return survey.clock.to_shared(time) + shift; }
};
using Ranks = std::map<int, Placed>;

// Passes on what a file tells of its ranks, on the clock of all; what belongs to another file, or to a row that nobody
// described, stays behind.
class OnSharedClock final : public trace::TraceVisitor {
 public:
  OnSharedClock(const Ranks& ranks, std::size_t file, trace::TraceVisitor& to) : ranks_(ranks), file_(file), to_(to) {}

  void track(const ReadTrack& track) override {
    if (!find(track.rank)) return;
    if (track.kind == ReadTrack::Kind::Process) {
      if (!ranks_seen_.insert(track.rank).second) return;
    } else if (ranks_seen_.insert(track.rank).second) {  // its process was lost
      to_.track({.uuid = track.uuid & ~std::uint64_t{0xffffffff},
                 .rank = track.rank,
                 .kind = ReadTrack::Kind::Process,
                 .name = fmt::format("rank {}", track.rank)});
    }
    if (rows_.insert(track.uuid).second) to_.track(track);
  }
  void event(const ReadEvent& event) override {
    const Placed* rank = find(event.rank);
    if (!rank || !rows_.contains(event.track)) return;
    ReadEvent moved = event;
    moved.time = rank->shared(event.time);
    to_.event(moved);
    ++events_;
  }
  void clocks(const trace::ReadClocks& clocks) override {
    const Placed* rank = find(clocks.rank);
    if (!rank || !ranks_seen_.contains(clocks.rank)) return;
    to_.clocks({clocks.rank, clocks.local, rank->shared(clocks.trace), clocks.reference});
  }

  std::uint64_t events() const { return events_; }

 private:
  const Placed* find(int rank) {
    if (rank == last_rank_) return last_;
    const auto found = ranks_.find(rank);
    last_rank_ = rank;
    last_ = found != ranks_.end() && found->second.file == file_ ? &found->second : nullptr;
    return last_;
  }

  const Ranks& ranks_;
  const std::size_t file_;
  trace::TraceVisitor& to_;
  std::unordered_set<int> ranks_seen_;
  std::unordered_set<std::uint64_t> rows_;
  int last_rank_ = -1;
  const Placed* last_ = nullptr;
  std::uint64_t events_ = 0;
};

fs::path default_output(const MergeOptions& options) {
  const fs::path folder = fs::is_directory(options.source) ? options.source : options.source.parent_path();
  switch (options.format) {
    case Format::Perfetto: return folder / "merged.perfetto-trace";
    case Format::Chrome: return folder / "merged.json";
    case Format::Otf2: break;
  }
  return folder / "merged-otf2";
}

void check_output(const fs::path& output, const MergeOptions& options, const std::vector<fs::path>& files) {
  std::error_code ignored;
  for (const fs::path& file : files)
    if (fs::equivalent(file, output, ignored))
      throw Error::bad_input("'{}' is one of the input traces and would be overwritten: choose another output with -o",
                             output.string());
  if (options.format == Format::Otf2 && fs::exists(output, ignored))
    throw Error::bad_input("'{}' already exists: remove it, or choose another folder with -o", output.string());
  if (options.format != Format::Otf2 && fs::is_directory(output, ignored))
    throw Error::bad_input("'{}' is a folder: give a file with -o", output.string());
}

std::unique_ptr<Sink> open_sink(Format format, const fs::path& output, std::int64_t begin) {
  switch (format) {
    case Format::Perfetto: return perfetto_sink(output);
    case Format::Chrome: return chrome_sink(output, begin);
    case Format::Otf2: break;
  }
  return otf2_sink(output, begin);
}

std::uint64_t size_of(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_directory(path)) return static_cast<std::uint64_t>(fs::file_size(path, ignored));
  std::uint64_t sum = 0;
  for (const auto& entry : fs::recursive_directory_iterator(path, ignored))
    if (entry.is_regular_file(ignored)) sum += static_cast<std::uint64_t>(entry.file_size(ignored));
  return sum;
}

// What is being written, which goes unless all is well.
class Partial {
 public:
  explicit Partial(fs::path output) : output_(std::move(output)), path_(output_.string() + ".partial") { remove(); }
  ~Partial() { remove(); }
  Partial(const Partial&) = delete;
  Partial& operator=(const Partial&) = delete;

  const fs::path& path() const { return path_; }
  void keep() const {
    std::error_code failure;
    fs::rename(path_, output_, failure);
    if (failure) throw Error::system(failure.value(), "cannot write {}", output_.string());
  }

 private:
  void remove() const {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const fs::path output_, path_;
};

class Merge {
 public:
  explicit Merge(const MergeOptions& options) : options_(options), files_(trace::trace_files(options.source)) {
    merged_.output = options.output.empty() ? default_output(options) : options.output;
    check_output(merged_.output, options_, files_);
    for (const fs::path& file : files_) all_bytes_ += size_of(file);
  }

  Merged run() {
    for (std::size_t i = 0; i < files_.size(); ++i) survey(i);
    if (ranks_.empty())
      throw Error::bad_input("{}", merged_.problems.empty()
                                       ? fmt::format("'{}' holds no traces of ranks", options_.source.string())
                                       : merged_.problems.front());
    const std::int64_t begin = align();
    judge();
    const Partial partial(merged_.output);
    {
      const auto sink = open_sink(options_.format, partial.path(), begin);
      for (std::size_t i = 0; i < files_.size(); ++i) write(i, *sink);
      sink->finish();
    }
    partial.keep();
    merged_.bytes = size_of(merged_.output);
    merged_.ranks = static_cast<int>(ranks_.size());
    return std::move(merged_);
  }

 private:
  void survey(std::size_t file) {
    Survey found(options_.steps);
    std::optional<trace::Damage> damage;
    try {
      damage = trace::read_trace(files_[file], found);
    } catch (const Error& error) {
      if (error.kind() != Error::Kind::BadInput) throw;
      merged_.problems.push_back(error.message());
    }
    if (damage) merged_.problems.push_back(damage->text());
    for (const auto& [number, rank] : found.ranks()) {
      if (!ranks_.try_emplace(number, Placed{.file = file, .survey = rank}).second)
        merged_.problems.push_back(trace::recorded_twice(number));
      else if (!rank.facts.ended && !damage)
        merged_.problems.push_back(trace::recording_has_no_end(number));
    }
    advance(files_[file]);
  }

  void judge() {
    std::vector<trace::RankFacts> facts;
    bool steps = false;
    for (auto& [number, rank] : ranks_) {
      rank.survey.facts.clock_shared = rank.survey.clock.known();
      if (rank.survey.first <= rank.survey.last) {
        rank.survey.facts.first = rank.shared(rank.survey.first);
        rank.survey.facts.last = rank.shared(rank.survey.last);
      }
      facts.push_back(rank.survey.facts);
      steps = steps || rank.survey.steps;
    }
    std::ranges::move(trace::problems_of(facts), std::back_inserter(merged_.problems));
    if (options_.steps != StepWindow{} && !steps)
      throw Error::bad_input("none of the requested steps is recorded in '{}'", options_.source.string());
  }

  // The wall clock of the first rank that compared its own is the one of all. Tells when the first event was.
  std::int64_t align() {
    std::int64_t wall = 0, begin = std::numeric_limits<std::int64_t>::max();
    for (const auto& [number, rank] : ranks_)
      if (wall == 0 && rank.survey.clock.known()) wall = rank.survey.clock.file_ahead();
    for (auto& [number, rank] : ranks_) {
      rank.shift = rank.survey.clock.known() ? wall : 0;
      const std::int64_t first =
          rank.survey.steps && options_.steps != StepWindow{} ? rank.survey.steps->begin : rank.survey.first;
      if (first != std::numeric_limits<std::int64_t>::max()) begin = std::min(begin, rank.shared(first));
    }
    return begin == std::numeric_limits<std::int64_t>::max() ? 0 : begin;
  }

  void write(std::size_t file, Sink& sink) {
    std::optional<StepFilter> filter;
    if (options_.steps != StepWindow{}) {
      std::map<int, trace::TimeRange> ranges;
      for (const auto& [number, rank] : ranks_)
        if (rank.survey.steps) ranges[number] = range_of(rank);
      filter.emplace(std::move(ranges), sink);
    }
    OnSharedClock reader(ranks_, file, filter ? static_cast<trace::TraceVisitor&>(*filter) : sink);
    try {
      trace::read_trace(files_[file], reader);
    } catch (const Error& error) {  // the first time, it was told
      if (error.kind() != Error::Kind::BadInput) throw;
    }
    merged_.events += reader.events();
    advance(files_[file]);
  }

  static trace::TimeRange range_of(const Placed& rank) {
    const auto [begin, end] = *rank.survey.steps;
    constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
    return {rank.shared(begin), end == kNever ? kNever : rank.shared(end)};
  }

  // Each file is read twice.
  void advance(const fs::path& file) {
    done_bytes_ += size_of(file);
    constexpr std::uint64_t kMega = 1'000'000;
    if (options_.progress)
      options_.progress(static_cast<std::int64_t>(done_bytes_ / 2 / kMega),
                        static_cast<std::int64_t>(std::max(all_bytes_, kMega) / kMega));
  }

  const MergeOptions& options_;
  const std::vector<fs::path> files_;
  std::uint64_t all_bytes_ = 0, done_bytes_ = 0;
  Ranks ranks_;
  Merged merged_;
};

}  // namespace

std::vector<std::string> format_names() {
  return {"perfetto", "chrome", "otf2"};
}

Format parse_format(std::string_view name) {
  if (name == "perfetto") return Format::Perfetto;
  if (name == "chrome") return Format::Chrome;
  if (name == "otf2") return Format::Otf2;
  throw Error::bad_input("unknown format '{}': {}", name, join(format_names(), ", "));
}

Merged merge(const MergeOptions& options) {
  if (options.format == Format::Otf2 && !has_otf2()) otf2_sink(options.output, 0);  // says what is missing
  return Merge(options).run();
}

}  // namespace ronde::report::exporting
