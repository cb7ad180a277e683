#include "ronde/report/steps/step_bins.h"

#include <algorithm>
#include <numeric>

namespace ronde::report {

std::vector<StepBin> bins_of(const StepTable& table, std::size_t most) {
  const std::size_t steps = table.numbers.size(), every = std::max<std::size_t>(1, (steps + most - 1) / most);
  std::vector<StepBin> bins;
  for (std::size_t first = 0; first < steps; first += every) {
    const std::size_t end = std::min(first + every, steps);
    const auto at = [&](std::size_t place) { return table.seconds.begin() + static_cast<std::ptrdiff_t>(place); };
    const auto longest = std::max_element(at(first), at(end)) - table.seconds.begin();
    bins.push_back({.first = first, .last = end - 1, .longest = static_cast<std::size_t>(longest)});
  }
  return bins;
}

std::vector<std::size_t> chosen_ranks(const StepTable& table, std::size_t most) {
  std::vector<std::size_t> places(table.ranks.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  if (places.size() <= most) return places;
  const auto work = [&](std::size_t place) { return table.ranks[place].all.work(); };
  std::ranges::stable_sort(places, std::greater(), work);
  // Who is named in words can be looked at, too.
  const auto slow =
      std::ranges::find(places, table.slow.rank, [&](std::size_t place) { return table.ranks[place].rank; });
  if (slow != places.end()) std::rotate(places.begin(), slow, slow + 1);
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < most; ++i) chosen.push_back(places[i * (places.size() - 1) / (most - 1)]);
  std::ranges::sort(chosen);
  return chosen;
}

}  // namespace ronde::report
