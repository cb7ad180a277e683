#include "ronde/report/steps/operators.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "ronde/report/run/numbers.h"
#include "ronde/report/steps/overlap.h"
#include "ronde/trace/fact_names.h"

namespace ronde::report {
namespace {

using trace::Lane;
using trace::LaneSpan;
namespace categories = trace::category_names;

// Sums by name and category, both numbers of Names.
struct OperatorSum {
  std::uint64_t visits = 0;
  std::int64_t ns = 0;
};
using OperatorSums = std::unordered_map<std::uint64_t, OperatorSum>;

void add_operators(const Lane& lane, TimeRange bounds, const std::vector<bool>& wanted,
                   std::vector<std::int64_t>& inside, OperatorSums& sums) {
  inside.assign(lane.spans.size(), 0);
  for (const LaneSpan& span : lane.spans)
    if (span.parent != LaneSpan::kNone) inside[static_cast<std::size_t>(span.parent)] += overlap(span.time, bounds);
  for (std::size_t i = 0; i < lane.spans.size(); ++i) {
    const LaneSpan& span = lane.spans[i];
    const std::int64_t time = overlap(span.time, bounds);
    if (!wanted[span.category] || time == 0) continue;
    OperatorSum& sum = sums[static_cast<std::uint64_t>(span.name) << 32 | span.category];
    ++sum.visits;
    sum.ns += std::max<std::int64_t>(0, time - inside[i]);
  }
}

OperatorSums sums_of(const trace::Run& run, const Window& window, std::initializer_list<std::string_view> categories) {
  std::vector<bool> wanted(run.names.size(), false);
  for (const std::string_view category : categories)
    if (const auto id = run.names.find(category)) wanted[*id] = true;
  OperatorSums sums;
  std::vector<std::int64_t> inside;
  for (std::size_t rank = 0; rank < std::min(run.ranks.size(), window.ranks.size()); ++rank)
    for (const Lane& lane : run.ranks[rank].lanes) add_operators(lane, window.ranks[rank], wanted, inside, sums);
  return sums;
}

}  // namespace

std::vector<OperatorTime> operators_of(const trace::Run& run, const Window& window, std::size_t most) {
  OperatorSums sums =
      sums_of(run, window, {categories::kOperator, categories::kKernel, categories::kCopy, categories::kCollective});
  if (sums.empty()) sums = sums_of(run, window, {categories::kModule});
  std::int64_t all = 0;
  for (const TimeRange& range : window.ranks) all += range.length();
  std::vector<OperatorTime> operators;
  for (const auto& [key, sum] : sums)
    operators.push_back({.name = run.names.text(static_cast<std::uint32_t>(key >> 32)),
                         .category = run.names.text(static_cast<std::uint32_t>(key & 0xffffffff)),
                         .visits = sum.visits,
                         .seconds = seconds(sum.ns),
                         .share = all > 0 ? static_cast<double>(sum.ns) / static_cast<double>(all) : 0});
  const auto before = [](const OperatorTime& a, const OperatorTime& b) {
    return a.seconds != b.seconds ? a.seconds > b.seconds : std::tie(a.name, a.category) < std::tie(b.name, b.category);
  };
  std::ranges::sort(operators, before);
  if (operators.size() > most) operators.resize(most);
  return operators;
}

}  // namespace ronde::report
