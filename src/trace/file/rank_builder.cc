#include "ronde/trace/file/rank_builder.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace ronde::trace::detail {
namespace {

constexpr TimeRange kNothing{std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()};
constexpr std::uint64_t kNoSequence = std::numeric_limits<std::uint64_t>::max();

std::int64_t integer(const ReadArg& arg) {
  const auto* value = std::get_if<std::int64_t>(&arg.value);
  return value ? *value : 0;
}

// Nanoseconds of an argument in microseconds. Nothing that takes years is believed.
std::int64_t nanoseconds(const ReadArg& arg) {
  constexpr double kMost = 1e17;
  const auto* value = std::get_if<double>(&arg.value);
  const double ns = value ? *value * 1e3 : static_cast<double>(integer(arg)) * 1e3;
  return ns > -kMost && ns < kMost ? static_cast<std::int64_t>(ns) : 0;
}

void read_args(const ReadEvent& event, Collective& collective) {
  for (const ReadArg& arg : event.args) {
    if (arg.key == "bytes") collective.bytes = static_cast<std::uint64_t>(integer(arg));
    if (arg.key == "wire_bytes") collective.wire_bytes = static_cast<std::uint64_t>(integer(arg));
    if (arg.key == "requests") collective.requests = static_cast<std::uint32_t>(integer(arg));
    if (arg.key == "sequence") collective.sequence = static_cast<std::uint64_t>(integer(arg));
    if (arg.key == "waiting_us") collective.waiting = nanoseconds(arg);
    if (arg.key == "arrived_us") collective.arrival = event.time - nanoseconds(arg);
    if (arg.key == "first_arrived_us") collective.first_arrival = event.time - nanoseconds(arg);
  }
}

}  // namespace

RankBuilder::RankBuilder(Names& names) : names_(names), wait_for_peers_(names.id(span_names::kWaitForPeers)) {}

RankDraft& RankBuilder::draft(int rank) {
  const auto [found, fresh] = ranks_.try_emplace(rank);
  if (fresh) found->second.trace = {.rank = rank, .time = kNothing};
  return found->second;
}

void RankBuilder::track(const ReadTrack& track) {
  TrackState state{.rank = &draft(track.rank)};
  RankTrace& trace = state.rank->trace;
  switch (track.kind) {
    case ReadTrack::Kind::Process: state.row = Row::Process; break;
    case ReadTrack::Kind::Counter:
      state.row = track.name == "dropped events" ? Row::Dropped : Row::Counter;
      if (state.row == Row::Dropped) break;
      state.place = trace.counters.size();
      trace.counters.push_back({.name = names_.id(track.name)});
      break;
    default:
      if (track.kind == ReadTrack::Kind::Other && track.name == "steps") {
        state.row = Row::Steps;
        break;
      }
      state.place = trace.lanes.size();
      trace.lanes.push_back({.kind = lane_kind(track.name), .name = track.name});
      state.moves = trace.lanes.back().kind == Lane::Kind::Move;
      if (state.moves) state.group = names_.id(std::string_view(track.name).substr(std::string_view("move: ").size()));
  }
  tracks_[track.uuid] = std::move(state);
}

void RankBuilder::clocks(const ReadClocks& clocks) {
  draft(clocks.rank).clock.add(clocks);
}

void RankBuilder::event(const ReadEvent& event) {
  const auto found = tracks_.find(event.track);
  if (found == tracks_.end()) return;
  TrackState& state = found->second;
  RankTrace& trace = state.rank->trace;
  if (state.row == Row::Process) return note(event, *state.rank);
  if (state.row == Row::Dropped) {  // counts go up, a track a thread
    constexpr double kMost = 1e15;  // garbage beyond that
    if (!(event.value >= 0 && event.value < kMost)) return;
    trace.dropped += static_cast<std::uint64_t>(std::max(0.0, event.value - state.last));
    state.last = std::max(state.last, event.value);
    return;
  }
  trace.time.begin = std::min(trace.time.begin, event.time);
  trace.time.end = std::max(trace.time.end, event.time);
  switch (event.type) {
    case ReadEvent::Type::Begin: return begin(event, state);
    case ReadEvent::Type::End: return end(event, state);
    case ReadEvent::Type::Counter:
      if (state.row == Row::Counter) trace.counters[state.place].points.push_back({event.time, event.value});
      return;
    case ReadEvent::Type::Instant: return;
  }
}

void RankBuilder::begin(const ReadEvent& event, TrackState& state) {
  OpenSpan open{
      .span = {.time = {event.time, event.time}, .name = names_.id(event.name), .category = names_.id(event.category)}};
  if (state.row == Row::Steps)
    for (const ReadArg& arg : event.args)
      if (arg.key == "step") open.step = integer(arg);
  if (state.moves && open.span.name != wait_for_peers_) {
    open.collective = {.first_arrival = event.time,
                       .arrival = event.time,
                       .sequence = kNoSequence,
                       .group = state.group,
                       .name = open.span.name};
    read_args(event, open.collective);
  }
  state.open.push_back(open);
}

void RankBuilder::end(const ReadEvent& event, TrackState& state) {
  if (state.open.empty()) return;  // its begin was dropped
  if (state.moves) {
    OpenSpan& open = state.open.back();
    if (open.collective.name != 0 && !event.args.empty()) read_args(event, open.collective);
  }
  close(state, event.time);
}

void RankBuilder::close(TrackState& state, std::int64_t time) {
  OpenSpan open = state.open.back();
  state.open.pop_back();
  RankTrace& trace = state.rank->trace;
  open.span.time.end = std::max(open.span.time.begin, time);
  if (state.row == Row::Steps) {
    trace.steps.push_back({open.step, open.span.time});
    return;
  }
  if (state.row != Row::Lane) return;
  trace.lanes[state.place].spans.push_back(open.span);
  if (open.collective.name == 0) return;
  Collective& collective = open.collective;
  collective.time = open.span.time;
  collective.first_arrival = std::min(collective.first_arrival, collective.arrival);
  if (collective.sequence == kNoSequence) collective.sequence = unnumbered_[{trace.rank, collective.group}]++;
  trace.collectives.push_back(collective);
}

// On the process's own row: metadata, a key and a text each.
void RankBuilder::note(const ReadEvent& event, RankDraft& rank) {
  if (event.name != "metadata") return;
  for (const ReadArg& arg : event.args) {
    const auto* text = std::get_if<std::string_view>(&arg.value);
    if (!text) continue;
    rank.trace.metadata[std::string(arg.key)] = *text;
    if (arg.key == "host") rank.trace.host = *text;
    if (arg.key == "dropped_events") rank.farewell = true;
  }
}

std::vector<RankDraft> RankBuilder::take() {
  for (auto& [uuid, state] : tracks_)
    while (!state.open.empty()) close(state, state.rank->trace.time.end);
  std::vector<RankDraft> all;
  for (auto& [rank, draft] : ranks_) {
    if (draft.trace.time.begin > draft.trace.time.end) draft.trace.time = {};
    draft.trace.ended = draft.farewell;
    for (Lane& lane : draft.trace.lanes) {
      nest(lane.spans);
      lane.spans.shrink_to_fit();
    }
    std::ranges::sort(draft.trace.collectives, {}, [](const Collective& one) { return one.time.begin; });
    std::ranges::stable_sort(draft.trace.steps, {}, &TracedStep::number);
    all.push_back(std::move(draft));
  }
  ranks_.clear();
  tracks_.clear();
  return all;
}

}  // namespace ronde::trace::detail
