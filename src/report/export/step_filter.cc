#include "ronde/report/export/step_filter.h"

#include <utility>

namespace ronde::report::exporting {

using trace::ReadArg;
using trace::ReadEvent;

void StepFilter::event(const ReadEvent& event) {
  // What a rank tells of itself has no place in time.
  if (event.type == ReadEvent::Type::Instant && static_cast<std::uint32_t>(event.track) == 0) return to_.event(event);
  const auto found = ranges_.find(event.rank);
  if (found == ranges_.end()) return;
  const auto [from, to] = found->second;
  const bool before = event.time < from, inside = !before && event.time < to;
  if (event.type == ReadEvent::Type::Instant || event.type == ReadEvent::Type::Counter) {
    if (inside) to_.event(event);
    return;
  }
  std::vector<Span>& open = open_[event.track];
  if (event.type == ReadEvent::Type::End) {
    if (open.empty()) return;
    if (event.time > from) let_begin(open, event, from);
    if (open.back().written) to_.event(event);
    open.pop_back();
    return;
  }
  if (inside) {
    let_begin(open, event, from);
    to_.event(event);
  }
  Span span{.written = inside, .kept = {}};
  if (before) {
    Kept kept{.name = std::string(event.name), .category = std::string(event.category), .args = {}, .flows = {}};
    kept.flows.assign(event.flows.begin(), event.flows.end());
    for (const ReadArg& arg : event.args) {
      auto& value = kept.args.emplace_back(std::string(arg.key), std::int64_t{0}).second;
      if (const auto* text = std::get_if<std::string_view>(&arg.value))
        value = std::string(*text);
      else if (const auto* real = std::get_if<double>(&arg.value))
        value = *real;
      else
        value = std::get<std::int64_t>(arg.value);
    }
    span.kept = std::move(kept);
  }
  open.push_back(std::move(span));
}

// Spans that began before: they are let in with the first event that shows them to last.
void StepFilter::let_begin(std::vector<Span>& open, const ReadEvent& at, std::int64_t from) {
  for (Span& span : open) {
    if (span.written || !span.kept) continue;
    std::vector<ReadArg> args;
    for (const auto& [key, value] : span.kept->args) {
      ReadArg arg{.key = key};
      std::visit([&](const auto& one) { arg.value = one; }, value);
      args.push_back(arg);
    }
    to_.event({.type = ReadEvent::Type::Begin,
               .rank = at.rank,
               .track = at.track,
               .time = from,
               .name = span.kept->name,
               .category = span.kept->category,
               .args = args,
               .flows = span.kept->flows});
    span.written = true;
    span.kept.reset();
  }
}

}  // namespace ronde::report::exporting
