#include "ronde/report/steps/timeline.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "ronde/base/text/format.h"
#include "ronde/report/run/speed.h"

namespace ronde::report {
namespace {

using trace::Lane;
using trace::LaneSpan;
using trace::RankTrace;
using trace::Run;

// From the first rank's begin of a step to the last one's end.
TimeRange time_of(const Run& run, std::int64_t number) {
  std::optional<TimeRange> all;
  for (const RankTrace& rank : run.ranks) {
    const auto found = std::ranges::lower_bound(rank.steps, number, {}, &trace::TracedStep::number);
    if (found == rank.steps.end() || found->number != number) continue;
    if (!all) all = found->time;
    all = TimeRange{std::min(all->begin, found->time.begin), std::max(all->end, found->time.end)};
  }
  return all.value_or(TimeRange{});
}

bool touches(TimeRange a, TimeRange b) {
  return a.begin < b.end && b.begin < a.end;
}

template <class Use>
void for_spans(const Lane& lane, const std::vector<TimelinePiece>& pieces, Use use) {
  for (std::size_t i = 0; i < lane.spans.size(); ++i)
    if (std::ranges::any_of(pieces,
                            [&](const TimelinePiece& piece) { return touches(lane.spans[i].time, piece.time); }))
      use(i);
}

std::size_t count_of(const RankTrace& rank, const std::vector<TimelinePiece>& pieces) {
  std::size_t count = 0;
  for (const Lane& lane : rank.lanes) for_spans(lane, pieces, [&](std::size_t) { ++count; });
  return count;
}

// Names get small numbers of the page's own.
class NameTable {
 public:
  explicit NameTable(const Run& run) : run_(run) {}

  std::size_t id(std::uint32_t name) {
    const auto [found, fresh] = ids_.try_emplace(name, texts_.size());
    if (fresh) texts_.push_back(run_.names.text(name));
    return found->second;
  }
  std::vector<std::string> texts() && { return std::move(texts_); }

 private:
  const Run& run_;
  std::map<std::uint32_t, std::size_t> ids_;
  std::vector<std::string> texts_;
};

TimelineLane lane_of(const RankTrace& rank, const Lane& lane, const std::vector<TimelinePiece>& pieces,
                     std::int64_t least, NameTable& names) {
  std::vector<int> depth(lane.spans.size(), 0);
  for (std::size_t i = 0; i < lane.spans.size(); ++i)
    if (const std::int32_t parent = lane.spans[i].parent; parent != LaneSpan::kNone)
      depth[i] = depth[static_cast<std::size_t>(parent)] + 1;
  TimelineLane shown{.rank = rank.rank, .host = rank.host, .name = lane.name, .kind = lane.kind};
  for_spans(lane, pieces, [&](std::size_t i) {
    const LaneSpan& span = lane.spans[i];
    if (span.time.length() >= least)
      shown.spans.push_back({.name = names.id(span.name), .time = span.time, .depth = depth[i]});
  });
  return shown;
}

// The slowest rank first, then from the first on, as far as there is room.
std::vector<std::size_t> shown_ranks(const Run& run, const StepTable& steps, const std::vector<TimelinePiece>& pieces,
                                     std::size_t most) {
  std::vector<std::size_t> order(run.ranks.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_partition(order, [&](std::size_t i) { return run.ranks[i].rank == steps.slow.rank; });
  std::vector<std::size_t> shown;
  std::size_t count = 0;
  for (const std::size_t i : order) {
    count += count_of(run.ranks[i], pieces);
    if (count > most && !shown.empty()) break;
    shown.push_back(i);
  }
  std::ranges::sort(shown);
  return shown;
}

// How long a span must be so that no more than `most` of these ranks are shown; 0: any.
std::int64_t least_length(const Run& run, const std::vector<std::size_t>& shown,
                          const std::vector<TimelinePiece>& pieces, std::size_t most) {
  std::vector<std::int64_t> lengths;
  for (const std::size_t i : shown)
    for (const Lane& lane : run.ranks[i].lanes)
      for_spans(lane, pieces, [&](std::size_t at) { lengths.push_back(lane.spans[at].time.length()); });
  if (lengths.size() <= most) return 0;
  const auto shortest = lengths.begin() + static_cast<std::ptrdiff_t>(most);
  std::ranges::nth_element(lengths, shortest, std::greater());
  return *shortest + 1;
}

std::string left_out_text(const Run& run, std::size_t shown, std::int64_t least) {
  std::string text;
  if (shown < run.ranks.size())
    text = fmt::format("{} of {} ranks are shown; 'ronde trace merge' writes a file with all of them", shown,
                       run.ranks.size());
  if (least > 0)
    text += fmt::format("{}spans shorter than {} are left out", text.empty() ? "" : "; ",
                        amount_text(static_cast<double>(least) / 1e3, "us"));
  return text;
}

}  // namespace

std::vector<TimelinePiece> pieces_of(const Run& run, const Window& window, const StepTable& steps,
                                     const std::vector<TimeRange>& marked) {
  std::map<std::int64_t, std::string> chosen;
  if (!steps.numbers.empty()) {
    const auto away = [&](double seconds) { return std::abs(seconds - steps.median_seconds); };
    const auto typical = std::ranges::min_element(steps.seconds, {}, away) - steps.seconds.begin();
    const auto slowest = std::ranges::max_element(steps.seconds) - steps.seconds.begin();
    const auto number = [&](std::ptrdiff_t at) { return steps.numbers[static_cast<std::size_t>(at)]; };
    chosen[number(slowest)] = ", the slowest";
    chosen[number(typical)] = ", a typical one";
    if (typical + 1 < std::ssize(steps.numbers)) chosen.try_emplace(number(typical + 1), "");
    for (const TimeRange& range : marked)
      for (const std::int64_t step : steps.numbers)
        if (touches(time_of(run, step), range)) {
          chosen.try_emplace(step, "");
          break;
        }
  }
  std::vector<TimelinePiece> pieces;
  for (const auto& [step, why] : chosen)
    pieces.push_back({.title = fmt::format("step {}{}", step, why), .number = step, .time = time_of(run, step)});
  for (const TimeRange& range : marked)
    if (std::ranges::none_of(pieces, [&](const TimelinePiece& piece) { return touches(piece.time, range); }))
      pieces.push_back({.title = "outside steps", .time = range});
  if (pieces.empty()) pieces.push_back({.title = "whole run", .time = window.time});
  std::ranges::sort(pieces, {}, [](const TimelinePiece& piece) { return piece.time.begin; });
  return pieces;
}

Timeline timeline_of(const Run& run, const StepTable& steps, std::vector<TimelinePiece> pieces, std::size_t most) {
  NameTable names(run);
  const auto shown = shown_ranks(run, steps, pieces, most);
  const std::int64_t least = least_length(run, shown, pieces, most);
  Timeline timeline{.left_out = left_out_text(run, shown.size(), least)};
  for (const std::size_t i : shown)
    for (const Lane& lane : run.ranks[i].lanes)
      if (TimelineLane row = lane_of(run.ranks[i], lane, pieces, least, names); !row.spans.empty())
        timeline.lanes.push_back(std::move(row));
  timeline.names = std::move(names).texts();
  timeline.pieces = std::move(pieces);
  return timeline;
}

}  // namespace ronde::report
