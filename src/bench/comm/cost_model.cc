#include "ronde/bench/comm/cost_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "ronde/base/text/format.h"
#include "ronde/base/text/table.h"
#include "ronde/base/text/units.h"

namespace ronde::bench::detail {

void CostModel::add(const Place& place, std::string algorithm, const CostFit& fit) {
  auto entry = std::ranges::find(entries_, place, &Entry::place);
  if (entry == entries_.end()) {
    const auto later = [&](const Entry& other) {
      return std::tie(other.place.nodes, other.place.ranks) > std::tie(place.nodes, place.ranks);
    };
    entry = entries_.insert(std::ranges::find_if(entries_, later), {place, {}});
  }
  const auto known = std::ranges::find(entry->algorithms, algorithm, &Algorithm::name);
  if (known != entry->algorithms.end()) {
    known->fit = fit;
  } else {
    entry->algorithms.push_back({std::move(algorithm), fit});
  }
}

const CostModel::Entry* CostModel::nearest(const Place& place) const {
  const auto ratio = [](int a, int b) { return std::abs(std::log(static_cast<double>(a) / static_cast<double>(b))); };
  const auto distance = [&](const Entry& entry) {
    return std::tuple(ratio(entry.place.nodes, place.nodes), ratio(entry.place.ranks, place.ranks));
  };
  const auto found = std::ranges::min_element(entries_, {}, distance);
  return found == entries_.end() ? nullptr : &*found;
}

std::string CostModel::choose(std::size_t bytes, const Place& place) const {
  const Entry* entry = nearest(place);
  if (!entry) return "";
  const auto us = [bytes](const Algorithm& algorithm) { return algorithm.fit.us(static_cast<double>(bytes)); };
  return std::ranges::min_element(entry->algorithms, {}, us)->name;
}

std::vector<CostModel::Range> CostModel::ranges(const Place& place) const {
  const Entry* entry = nearest(place);
  if (!entry) return {};
  // From the quickest for nothing on, always to the line that is the first to come below this one.
  const auto start = [](const Algorithm& one) { return std::tuple(one.fit.latency_us, one.fit.us_per_byte); };
  const Algorithm* current = &*std::ranges::min_element(entry->algorithms, {}, start);
  std::vector<Range> ranges{{0, current->name}};
  for (;;) {
    const Algorithm* next = nullptr;
    double soonest = std::numeric_limits<double>::infinity();
    for (const Algorithm& other : entry->algorithms) {
      if (other.fit.us_per_byte >= current->fit.us_per_byte) continue;
      const double crossing =
          (other.fit.latency_us - current->fit.latency_us) / (current->fit.us_per_byte - other.fit.us_per_byte);
      const bool flatter = next && crossing == soonest && other.fit.us_per_byte < next->fit.us_per_byte;
      if (crossing < soonest || flatter) next = &other, soonest = crossing;
    }
    if (!next) return ranges;
    current = next;
    ranges.push_back({soonest, current->name});
  }
}

std::vector<CostModel::Place> CostModel::places() const {
  std::vector<Place> places;
  for (const Entry& entry : entries_) places.push_back(entry.place);
  return places;
}

std::vector<CostModel::Algorithm> CostModel::algorithms(const Place& place) const {
  const Entry* entry = nearest(place);
  return entry ? entry->algorithms : std::vector<Algorithm>{};
}

std::string CostModel::text() const {
  const auto bytes_text = [](double bytes) { return format_bytes(static_cast<std::uint64_t>(std::llround(bytes))); };
  Table table({{"ranks", Align::Right},
               {"nodes", Align::Right},
               {"from", Align::Right},
               {"to", Align::Right},
               {"algorithm"},
               {"latency", Align::Right},
               {"bandwidth", Align::Right}});
  for (const Entry& entry : entries_) {
    const auto all = ranges(entry.place);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto& fit = std::ranges::find(entry.algorithms, all[i].algorithm, &Algorithm::name)->fit;
      table.add({std::to_string(entry.place.ranks), std::to_string(entry.place.nodes), bytes_text(all[i].from_bytes),
                 i + 1 < all.size() ? bytes_text(all[i + 1].from_bytes) : "any", all[i].algorithm,
                 fmt::format("{:.1f} us", fit.latency_us),
                 fit.us_per_byte > 0 ? fmt::format("{:.2f} GB/s", fit.gb_per_s()) : "-"});
    }
  }
  return table.text();
}

}  // namespace ronde::bench::detail
