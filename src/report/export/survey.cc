#include "ronde/report/export/survey.h"

#include <algorithm>

#include "ronde/base/text/text.h"

namespace ronde::report::exporting {

using trace::ReadArg;
using trace::ReadEvent;
using trace::ReadTrack;

RankSurvey& Survey::rank(int number) {
  const auto [found, fresh] = ranks_.try_emplace(number);
  if (fresh) found->second.facts.rank = number;
  return found->second;
}

void Survey::track(const ReadTrack& track) {
  rank(track.rank);
  rows_[track.uuid] = track.kind == ReadTrack::Kind::Other && track.name == "steps";
  if (track.kind == ReadTrack::Kind::Counter && track.name == "dropped events") drops_[track.uuid] = 0;
}

void Survey::clocks(const trace::ReadClocks& clocks) {
  rank(clocks.rank).clock.add(clocks);
}

void Survey::event(const ReadEvent& event) {
  const auto row = rows_.find(event.track);
  if (row == rows_.end()) return;
  RankSurvey& found = rank(event.rank);
  if (event.type == ReadEvent::Type::Instant && static_cast<std::uint32_t>(event.track) == 0) return note(event, found);
  found.first = std::min(found.first, event.time);
  found.last = std::max(found.last, event.time);
  if (row->second) return step(event, found);
  if (event.type != ReadEvent::Type::Counter) return;
  const auto drops = drops_.find(event.track);
  if (drops == drops_.end() || !(event.value > drops->second && event.value < 1e18)) return;
  found.facts.dropped += static_cast<std::uint64_t>(event.value - drops->second);
  drops->second = event.value;
}

void Survey::note(const ReadEvent& event, RankSurvey& rank) const {
  if (event.name != "metadata") return;
  for (const ReadArg& arg : event.args) {
    const auto* text = std::get_if<std::string_view>(&arg.value);
    if (!text) continue;
    if (arg.key == "world_size") rank.facts.world_size = parse_number<int>(*text).value_or(0);
    if (arg.key == "dropped_events") rank.facts.ended = true;
  }
}

void Survey::step(const ReadEvent& event, RankSurvey& rank) const {
  if (event.type == ReadEvent::Type::Begin) {
    for (const ReadArg& arg : event.args)
      if (const auto* number = std::get_if<std::int64_t>(&arg.value); number && arg.key == "step") {
        // The one before has ended, so the end of the last one asked for is where the next begins.
        if (!window_.contains(*number)) return;
        if (!rank.steps) rank.steps = {event.time, event.time};
        rank.steps->begin = std::min(rank.steps->begin, event.time);
        rank.steps->end = std::numeric_limits<std::int64_t>::max();  // until its end is seen
      }
  } else if (event.type == ReadEvent::Type::End && rank.steps &&
             rank.steps->end == std::numeric_limits<std::int64_t>::max()) {
    rank.steps->end = event.time;
  }
}

}  // namespace ronde::report::exporting
