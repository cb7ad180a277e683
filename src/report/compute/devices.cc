#include "ronde/report/compute/devices.h"

#include <algorithm>

#include "ronde/report/run/numbers.h"
#include "ronde/trace/fact_names.h"

namespace ronde::report {

// In its first steps a network's libraries choose their kernels, and a graph is recorded: hundreds of times as long as
// steps are, which beside few others would be all there is to see.
constexpr std::size_t kSettling = 4;

TimeRange recorded_of_device(const trace::RankTrace& rank, TimeRange bounds) {
  std::int64_t last = bounds.begin;
  for (const trace::Lane& lane : rank.lanes)
    if (lane.kind == trace::Lane::Kind::Device)
      for (const trace::LaneSpan& span : lane.spans) last = std::max(last, span.time.end);
  if (last == bounds.begin) return bounds;  // nothing was recorded
  if (rank.metadata.contains(trace::metadata_names::kGpuSteps)) bounds.end = std::min(bounds.end, last);
  if (rank.steps.size() <= kSettling || rank.steps[kSettling].time.begin >= std::min(bounds.end, last)) return bounds;
  return {std::max(bounds.begin, rank.steps[kSettling].time.begin), bounds.end};
}

DeviceUse device_use(const trace::Run& run, const trace::RankTrace& rank, TimeRange whole) {
  const TimeRange bounds = recorded_of_device(rank, whole);
  const auto collective = run.names.find(trace::category_names::kCollective);
  const auto copy = run.names.find(trace::category_names::kCopy);
  Ranges computing, collectives, copies;
  for (const trace::Lane& lane : rank.lanes) {
    if (lane.kind != trace::Lane::Kind::Device) continue;
    for (const trace::LaneSpan& span : lane.spans)
      (span.category == collective ? collectives : span.category == copy ? copies : computing).push_back(span.time);
  }
  Ranges busy;
  for (Ranges* part : {&computing, &collectives, &copies}) {
    *part = within(united(std::move(*part)), bounds);
    busy.insert(busy.end(), part->begin(), part->end());
  }
  return {.rank = rank.rank,
          .host = rank.host,
          .seconds = seconds(bounds.length()),
          .busy = seconds(length(united(std::move(busy)))),
          .computing = seconds(length(computing)),
          .collectives = seconds(length(collectives)),
          .copies = seconds(length(copies))};
}

std::vector<DeviceUse> devices_of(const trace::Run& run, const Window& window) {
  std::vector<DeviceUse> all;
  for (std::size_t i = 0; i < run.ranks.size(); ++i) {
    DeviceUse use = device_use(run, run.ranks[i], window.ranks[i]);
    if (use.busy > 0) all.push_back(std::move(use));
  }
  return all;
}

}  // namespace ronde::report
