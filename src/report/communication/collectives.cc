#include "ronde/report/communication/collectives.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <tuple>

#include "ronde/base/text/format.h"
#include "ronde/report/run/numbers.h"
#include "ronde/report/run/speed.h"

namespace ronde::report {
namespace {

using trace::Collective;

constexpr double kClassesAnOctave = 4;
constexpr std::size_t kMostWeight = 8;
constexpr double kMuchError = 0.3;
constexpr double kLeastSpread = 2;   // of sizes
constexpr double kLeastPart = 0.05;  // of the time of the largest, that its bytes take

struct Part {
  const Collective* what = nullptr;
  std::uint64_t sequence = 0;
};

// Members of one group may call different things by one sequence only in a damaged file: then they are apart.
auto key_of(const Part& part) {
  return std::tuple(part.what->group, part.sequence, part.what->name);
}

// A trace that does not number collectives has those of a group in their order all the same.
std::vector<Part> parts_of(const trace::Run& run, const Window& window) {
  std::vector<Part> parts;
  for (const trace::RankTrace& rank : run.ranks) {
    const bool numbered = std::ranges::any_of(rank.collectives, [](const Collective& one) { return one.sequence > 0; });
    std::map<std::uint32_t, std::uint64_t> next;
    for (const Collective& one : rank.collectives) {
      const std::uint64_t sequence = numbered ? one.sequence : next[one.group]++;
      if (one.time.end > window.time.begin && one.time.end <= window.time.end) parts.push_back({&one, sequence});
    }
  }
  std::ranges::sort(parts, {}, key_of);
  return parts;
}

// Parts of one collective. `shortest`: from a member's own arrival to its end.
MatchedCollective match(std::span<const Part> parts, std::int64_t& shortest) {
  const Collective& one = *parts.front().what;
  MatchedCollective matched{.group = one.group,
                            .name = one.name,
                            .sequence = parts.front().sequence,
                            .arrival = one.arrival,
                            .end = one.time.end,
                            .members = static_cast<int>(parts.size())};
  shortest = one.time.end - one.arrival;
  for (const Part& part : parts) {
    matched.bytes = std::max(matched.bytes, static_cast<double>(part.what->bytes));
    matched.arrival = std::max(matched.arrival, part.what->arrival);
    matched.end = std::max(matched.end, part.what->time.end);
    shortest = std::min(shortest, part.what->time.end - part.what->arrival);
  }
  return matched;
}

CollectiveKind& kind_of(const trace::Run& run, const MatchedCollective& matched,
                        std::map<std::pair<std::uint32_t, std::uint32_t>, CollectiveKind>& kinds) {
  CollectiveKind& kind = kinds[{matched.group, matched.name}];
  if (kind.count == 0) kind.group = run.names.text(matched.group), kind.name = run.names.text(matched.name);
  return kind;
}

std::string fit_text(const CollectiveFit& fit) {
  if (fit.bandwidth_gb_s <= 0)
    return fmt::format(" Their time does not depend on size: each costs {} of latency.",
                       amount_text(fit.latency_us, "us"));
  return fmt::format(
      " Fit: an allreduce costs {} of latency and moves its bytes at {}; below {} latency costs more than bandwidth{}.",
      amount_text(fit.latency_us, "us"), amount_text(fit.bandwidth_gb_s, "GB/s"), size_text(fit.crossover_bytes),
      fit.error > kMuchError ? "; times vary, so the fit is rough" : "");
}

std::string text_of(const Collectives& all, const trace::Run& run, const MeasuredAllreduce& measured) {
  if (all.kinds.empty())
    return run.world_size < 2 ? "One rank: there is no communication." : "No collective was recorded in these steps.";
  const auto allreduce = std::ranges::find(all.kinds, "allreduce", &CollectiveKind::name);
  const CollectiveKind& main = allreduce == all.kinds.end() ? all.kinds.front() : *allreduce;
  std::string text = fmt::format("Counted from the last rank's arrival, {} in '{}' reaches {}", main.name, main.group,
                                 amount_text(main.bandwidth_gb_s, "GB/s"));
  if (main.measured_gb_s > 0) {
    text += fmt::format(", {} of what these sizes reached when measured {}",
                        percent_text(main.bandwidth_gb_s / main.measured_gb_s), measured.where);
    if (measured.ranks != run.world_size) text += fmt::format(" (on {} ranks, not {})", measured.ranks, run.world_size);
  } else if (allreduce != all.kinds.end()) {
    text += "; run 'ronde bench allreduce --json' on these ranks to measure what they can reach";
  }
  text += ".";
  if (run.ranks.size() < static_cast<std::size_t>(std::max(0, run.world_size)))
    text +=
        fmt::format(" {} of {} ranks left no trace: if one of them arrived last, the collective is faster than that.",
                    static_cast<std::size_t>(run.world_size) - run.ranks.size(), run.world_size);
  if (all.fit) return text + fit_text(*all.fit);
  if (allreduce != all.kinds.end())
    text +=
        " Latency and bandwidth cannot be separated: all allreduces have about the same size (set by "
        "comm.fusion_bytes).";
  return text;
}

}  // namespace

std::vector<MatchedCollective> matched_collectives(const trace::Run& run, const Window& window) {
  const bool one_clock = run.ranks.size() < 2 || std::ranges::all_of(run.ranks, &trace::RankTrace::clock_shared);
  const auto parts = parts_of(run, window);
  std::vector<MatchedCollective> all;
  std::int64_t before = 0;  // when the one before it in its group was complete
  std::uint32_t group = 0;
  for (std::size_t first = 0, last = 0; first < parts.size(); first = last) {
    while (last < parts.size() && key_of(parts[last]) == key_of(parts[first])) ++last;
    std::int64_t shortest = 0;
    MatchedCollective matched = match(std::span(parts).subspan(first, last - first), shortest);
    if (first == 0 || matched.group != group) before = matched.arrival;
    group = matched.group;
    matched.begin = one_clock ? std::max(matched.arrival, before) : matched.end - shortest;
    before = std::max(before, matched.end);
    if (matched.end > matched.begin) all.push_back(matched);
  }
  return all;
}

std::optional<CollectiveFit> fit_collectives(const std::vector<CostPoint>& points) {
  struct Class {
    double bytes = 0;
    std::vector<double> us = {};
  };
  std::map<int, Class> classes;
  for (const CostPoint& point : points) {
    if (!(point.us > 0) || !(point.bytes > 0)) continue;
    Class& same = classes[static_cast<int>(std::floor(kClassesAnOctave * std::log2(point.bytes)))];
    same.bytes += point.bytes;
    same.us.push_back(point.us);
  }
  CollectiveFit fit;
  std::vector<CostPoint> weighted;  // what was seen once may be anything
  for (auto& [number, same] : classes) {
    const std::size_t count = same.us.size();
    fit.points.push_back({same.bytes / static_cast<double>(count), median(std::move(same.us))});
    weighted.insert(weighted.end(), std::min(count, kMostWeight), fit.points.back());
  }
  if (fit.points.size() < 2 || fit.points.back().bytes < kLeastSpread * fit.points.front().bytes) return {};
  const CostFit line = fit_cost(weighted);
  fit.latency_us = line.latency_us;
  fit.error = line.error;
  // A slope that hardly shows at the largest size is that of the noise.
  const double largest = fit.points.back().bytes;
  if (line.us_per_byte * largest < kLeastPart * line.us(largest)) return fit;
  fit.bandwidth_gb_s = line.gb_per_s();
  fit.crossover_bytes = line.latency_us / line.us_per_byte;
  return fit;
}

Collectives collectives_of(const trace::Run& run, const Window& window, const MeasuredAllreduce& measured) {
  const auto matched = matched_collectives(run, window);
  std::map<std::pair<std::uint32_t, std::uint32_t>, CollectiveKind> kinds;
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> measured_seconds;
  const auto allreduce = run.names.find("allreduce");
  for (const MatchedCollective& each : matched) {
    CollectiveKind& kind = kind_of(run, each, kinds);
    ++kind.count;
    kind.bytes += each.bytes;
    kind.seconds += each.seconds();
    if (measured.known() && allreduce == each.name)
      measured_seconds[{each.group, each.name}] += measured.us(each.bytes) / 1e6;
  }
  Collectives all;
  std::optional<std::uint32_t> busiest;  // group, of allreduces
  double most = 0;
  for (auto& [key, kind] : kinds) {
    if (allreduce == key.second && kind.seconds > most) busiest = key.first, most = kind.seconds;
    if (kind.seconds > 0) kind.bandwidth_gb_s = kind.bytes / kind.seconds / 1e9;
    if (const double seconds = measured_seconds[key]; seconds > 0) kind.measured_gb_s = kind.bytes / seconds / 1e9;
    all.kinds.push_back(kind);
  }
  std::ranges::stable_sort(all.kinds, std::greater(), &CollectiveKind::seconds);
  std::vector<CostPoint> points;
  for (const MatchedCollective& each : matched)
    if (busiest == each.group && allreduce == each.name) points.push_back({each.bytes, each.seconds() * 1e6});
  all.fit = fit_collectives(points);
  all.text = text_of(all, run, measured);
  return all;
}

}  // namespace ronde::report
