#include "ronde/report/steps/step_buckets.h"

#include "ronde/report/run/numbers.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace ronde::report {
namespace {

constexpr std::uint64_t kTiny = 4096;  // bytes that make no difference to the time of a collective

std::uint32_t busiest_group(const trace::Run& run) {
  std::map<std::uint32_t, double> bytes;
  for (const trace::RankTrace& rank : run.ranks)
    for (const trace::Collective& one : rank.collectives) bytes[one.group] += static_cast<double>(one.bytes);
  const auto most = std::ranges::max_element(bytes, {}, [](const auto& entry) { return entry.second; });
  return most == bytes.end() ? 0 : most->first;
}

}  // namespace

StepBuckets::StepBuckets(const trace::Run& run, const Window& window, const StepTable& steps) {
  const std::uint32_t group = busiest_group(run);
  std::vector<std::vector<Bucket>> all;
  for (std::size_t rank = 0; rank < run.ranks.size(); ++rank)
    all.push_back(buckets_of(run.ranks[rank], window.ranks[rank], group));
  std::vector<double> tiny;
  for (std::size_t rank = 0; rank < run.ranks.size(); ++rank) {
    assign(run, run.ranks[rank], steps, all[rank]);
    const std::vector<std::int64_t> takes = durations(all[rank]);
    for (std::size_t i = 0; i < takes.size(); ++i)
      if (all[rank][i].bytes <= kTiny) tiny.push_back(seconds(takes[i]));
  }
  latency_ = median(std::move(tiny));
}

// All of a rank's collectives in the group, by end; notes when they were asked for.
std::vector<StepBuckets::Bucket> StepBuckets::buckets_of(const trace::RankTrace& rank, TimeRange bounds,
                                                         std::uint32_t group) {
  std::vector<Bucket> all;
  for (const trace::Collective& one : rank.collectives) {
    if (one.group != group || one.bytes == 0 || one.arrival < bounds.begin || one.arrival > bounds.end) continue;
    const auto [found, fresh] = arrivals_.try_emplace(one.sequence, Arrivals{one.first_arrival, one.arrival});
    if (!fresh)
      found->second = {std::max(found->second.first, one.first_arrival), std::max(found->second.last, one.arrival)};
    all.push_back({one.sequence, one.bytes, one.first_arrival, one.arrival, one.time.end});
  }
  std::ranges::sort(all, {}, &Bucket::end);
  return all;
}

void StepBuckets::assign(const trace::Run& run, const trace::RankTrace& rank, const StepTable& steps,
                         const std::vector<Bucket>& all) {
  auto& mine = buckets_.emplace_back(steps.numbers.size());
  const trace::Lane* lane = rank.training();
  const auto spans = [&](std::string_view name) { return lane ? ranges_of(run, *lane, {name}) : Ranges{}; };
  const Ranges backward = spans(trace::span_names::kBackward), optimizer = spans(trace::span_names::kOptimizer);
  for (const Bucket& bucket : all) {
    const auto after = std::ranges::upper_bound(rank.steps, bucket.arrival, {},
                                                [](const trace::TracedStep& step) { return step.time.begin; });
    if (after == rank.steps.begin() || bucket.arrival >= (after - 1)->time.end) continue;
    const trace::TracedStep& step = *(after - 1);
    const auto number = std::ranges::lower_bound(steps.numbers, step.number);
    if (number == steps.numbers.end() || *number != step.number) continue;
    // What is asked for at other times is no gradient: results of the step, statistics of norms.
    const Ranges passes = within(backward, step.time), updates = within(optimizer, step.time);
    if (!passes.empty() && bucket.arrival < passes.front().begin) continue;
    if (!updates.empty() && bucket.arrival > updates.front().begin) continue;
    mine[static_cast<std::size_t>(number - steps.numbers.begin())].push_back(bucket);
  }
}

std::vector<std::int64_t> StepBuckets::durations(const std::vector<Bucket>& buckets) const {
  std::vector<std::int64_t> result;
  std::int64_t before = std::numeric_limits<std::int64_t>::min();
  for (const Bucket& bucket : buckets) {
    const std::int64_t begin = std::max(before, arrivals_.at(bucket.sequence).last);
    result.push_back(std::max<std::int64_t>(0, bucket.end - begin));
    before = bucket.end;
  }
  return result;
}

double StepBuckets::won_by_early_start(std::size_t rank, std::size_t step) const {
  const std::vector<Bucket>& buckets = buckets_[rank][step];
  if (buckets.empty()) return 0;
  const std::vector<std::int64_t> takes = durations(buckets);
  std::int64_t through = arrivals_.at(buckets[0].sequence).first + takes[0];
  for (std::size_t i = 1; i < buckets.size(); ++i)
    through = std::max(through, arrivals_.at(buckets[i].sequence).last) + takes[i];
  return seconds(buckets.back().end - through);
}

double StepBuckets::mean_count() const {
  double count = 0, steps = 0;
  for (const auto& rank : buckets_)
    for (const auto& step : rank)
      if (!step.empty()) count += static_cast<double>(step.size()), ++steps;
  return steps > 0 ? count / steps : 0;
}

double StepBuckets::mean_step_bytes() const {
  double bytes = 0, steps = 0;
  for (const auto& rank : buckets_)
    for (const auto& step : rank) {
      for (const Bucket& bucket : step) bytes += static_cast<double>(bucket.bytes);
      if (!step.empty()) ++steps;
    }
  return steps > 0 ? bytes / steps : 0;
}

double StepBuckets::median_first_bytes() const {
  std::vector<double> all;
  for (const auto& rank : buckets_)
    for (const auto& step : rank)
      if (!step.empty()) all.push_back(static_cast<double>(step[0].bytes));
  return median(std::move(all));
}

double StepBuckets::median_delay() const {
  std::vector<double> all;
  for (const auto& rank : buckets_)
    for (const auto& step : rank)
      if (!step.empty()) all.push_back(seconds(step[0].arrival - step[0].first_arrival));
  return median(std::move(all));
}

double StepBuckets::median_seconds() const {
  std::vector<double> all;
  for (const auto& rank : buckets_)
    for (const auto& step : rank)
      for (const std::int64_t takes : durations(step)) all.push_back(seconds(takes));
  return median(std::move(all));
}

}  // namespace ronde::report
