#include "ronde/trace/file/run.h"

#include <algorithm>

namespace ronde::trace {

std::uint32_t Names::id(std::string_view text) {
  const auto [found, fresh] = ids_.try_emplace(std::string(text), static_cast<std::uint32_t>(texts_.size()));
  if (fresh) texts_.push_back(&found->first);
  return found->second;
}

std::optional<std::uint32_t> Names::find(std::string_view text) const {
  const auto found = ids_.find(std::string(text));
  return found == ids_.end() ? std::nullopt : std::optional(found->second);
}

Lane::Kind lane_kind(std::string_view name) {
  if (name == "training") return Lane::Kind::Training;
  if (name == "checkpoint") return Lane::Kind::Checkpoint;
  if (name.starts_with("input ")) return Lane::Kind::Input;
  if (name.starts_with("agree: ")) return Lane::Kind::Agree;
  if (name.starts_with("move: ")) return Lane::Kind::Move;
  if (name.starts_with("gpu ")) return Lane::Kind::Device;
  return Lane::Kind::Other;
}

void nest(std::vector<LaneSpan>& spans) {
  const auto before = [](const LaneSpan& a, const LaneSpan& b) {
    return a.time.begin != b.time.begin ? a.time.begin < b.time.begin : a.time.end > b.time.end;
  };
  std::ranges::stable_sort(spans, before);
  std::vector<std::int32_t> open;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const auto holds = [&](std::int32_t outer) {
      const std::int64_t end = spans[static_cast<std::size_t>(outer)].time.end;
      return end >= spans[i].time.end && end > spans[i].time.begin;
    };
    while (!open.empty() && !holds(open.back())) open.pop_back();
    spans[i].parent = open.empty() ? LaneSpan::kNone : open.back();
    open.push_back(static_cast<std::int32_t>(i));
  }
}

const Lane* RankTrace::training() const {
  const auto found = std::ranges::find(lanes, Lane::Kind::Training, &Lane::kind);
  return found == lanes.end() ? nullptr : &*found;
}

}  // namespace ronde::trace
