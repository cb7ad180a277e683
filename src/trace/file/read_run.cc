#include <algorithm>
#include <atomic>
#include <charconv>
#include <iterator>
#include <thread>

#include "ronde/base/error.h"
#include "ronde/base/text/format.h"
#include "ronde/trace/file/problems.h"
#include "ronde/trace/file/rank_builder.h"
#include "ronde/trace/file/run.h"

namespace ronde::trace {
namespace {

using detail::RankBuilder;
using detail::RankDraft;

// What one file holds.
struct FileDraft {
  Names names = {};
  std::vector<RankDraft> ranks = {};
  std::vector<std::string> problems = {};
};

FileDraft read_file(const std::filesystem::path& file, const ReadOptions& options) {
  FileDraft draft;
  try {
    RankBuilder builder(draft.names);
    const auto filter = options.filter ? options.filter(builder) : nullptr;
    const auto damage = read_trace(file, filter ? *filter : static_cast<TraceVisitor&>(builder));
    draft.ranks = builder.take();
    if (damage) draft.problems.push_back(damage->text());
    for (const RankDraft& rank : draft.ranks)
      if (!rank.trace.ended && !damage) draft.problems.push_back(recording_has_no_end(rank.trace.rank));
  } catch (const Error& error) {
    draft.problems.push_back(error.what());
  }
  return draft;
}

// One after the other, from as many threads as asked for.
std::vector<FileDraft> read_files(const std::vector<std::filesystem::path>& files, const ReadOptions& options) {
  std::vector<FileDraft> drafts(files.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < files.size(); i = next++) drafts[i] = read_file(files[i], options);
  };
  const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  const std::size_t wanted = options.threads > 0 ? static_cast<std::size_t>(options.threads) : cores;
  std::vector<std::jthread> helpers;
  for (std::size_t i = 1; i < std::min(wanted, files.size()); ++i) helpers.emplace_back(work);
  work();
  helpers.clear();
  return drafts;
}

// From a file's own numbers for names to the run's.
void rename(RankTrace& rank, const std::vector<std::uint32_t>& to) {
  for (Lane& lane : rank.lanes)
    for (LaneSpan& span : lane.spans) {
      span.name = to[span.name];
      span.category = to[span.category];
    }
  for (Collective& one : rank.collectives) {
    one.group = to[one.group];
    one.name = to[one.name];
  }
  for (CounterSeries& series : rank.counters) series.name = to[series.name];
}

template <class Change>
void change_times(RankTrace& rank, Change change) {
  const auto both = [&](TimeRange& range) { range = {change(range.begin), change(range.end)}; };
  for (Lane& lane : rank.lanes)
    for (LaneSpan& span : lane.spans) both(span.time);
  for (Collective& one : rank.collectives) {
    both(one.time);
    one.first_arrival = change(one.first_arrival);
    one.arrival = change(one.arrival);
  }
  for (TracedStep& step : rank.steps) both(step.time);
  for (CounterSeries& series : rank.counters)
    for (CounterSeries::Point& point : series.points) point.time = change(point.time);
  both(rank.time);
}

int world_size_of(const RankTrace& rank) {
  const auto found = rank.metadata.find("world_size");
  int size = 0;
  if (found != rank.metadata.end())
    std::from_chars(found->second.data(), found->second.data() + found->second.size(), size);
  return size;
}

// Joins what files told, one rank once.
std::vector<RankDraft> join(std::vector<FileDraft>&& drafts, Run& run) {
  std::vector<RankDraft> ranks;
  for (FileDraft& draft : drafts) {
    std::ranges::move(draft.problems, std::back_inserter(run.problems));
    std::vector<std::uint32_t> to;
    for (std::uint32_t id = 0; id < draft.names.size(); ++id) to.push_back(run.names.id(draft.names.text(id)));
    for (RankDraft& rank : draft.ranks) {
      const int number = rank.trace.rank;
      if (std::ranges::any_of(ranks, [&](const RankDraft& other) { return other.trace.rank == number; })) {
        run.problems.push_back(recorded_twice(number));
        continue;
      }
      rename(rank.trace, to);
      ranks.push_back(std::move(rank));
    }
  }
  std::ranges::sort(ranks, {}, [](const RankDraft& rank) { return rank.trace.rank; });
  return ranks;
}

// All times on the clock that ranks share, since the first event of all.
void align(std::vector<RankDraft>& ranks, Run& run) {
  const auto measured = std::ranges::find_if(ranks, [](const RankDraft& rank) { return rank.clock.known(); });
  // Who did not measure is taken to have a wall clock like the first one that did.
  const std::int64_t ahead = measured == ranks.end() ? 0 : measured->clock.file_ahead();
  std::int64_t first = std::numeric_limits<std::int64_t>::max(), wall = 0;
  for (RankDraft& rank : ranks) {
    rank.trace.clock_shared = rank.clock.known();
    if (rank.trace.time == TimeRange{}) continue;
    const std::int64_t began = rank.trace.time.begin;
    const std::int64_t less = rank.clock.known() ? 0 : ahead;
    change_times(rank.trace, [&](std::int64_t time) { return rank.clock.to_shared(time) - less; });
    if (rank.trace.time.begin < first) {
      first = rank.trace.time.begin;
      wall = began;
    }
  }
  run.began_ns = wall;
  for (RankDraft& rank : ranks)
    if (rank.trace.time != TimeRange{}) change_times(rank.trace, [&](std::int64_t time) { return time - first; });
}

}  // namespace

Run read_run(const std::filesystem::path& path, const ReadOptions& options) {
  Run run{.source = path};
  std::vector<RankDraft> ranks = join(read_files(trace_files(path), options), run);
  if (ranks.empty())
    throw Error::bad_input("{}", run.problems.empty() ? fmt::format("'{}' holds no trace of any rank", path.string())
                                                      : run.problems.front());
  align(ranks, run);
  std::vector<RankFacts> facts;
  for (RankDraft& rank : ranks) {
    facts.push_back({.rank = rank.trace.rank,
                     .world_size = world_size_of(rank.trace),
                     .dropped = rank.trace.dropped,
                     .clock_shared = rank.trace.clock_shared,
                     .ended = rank.trace.ended,
                     .first = rank.trace.time.begin,
                     .last = rank.trace.time.end});
    run.ranks.push_back(std::move(rank.trace));
  }
  run.world_size = world_size_of(facts);
  std::ranges::move(problems_of(facts), std::back_inserter(run.problems));
  return run;
}

}  // namespace ronde::trace
