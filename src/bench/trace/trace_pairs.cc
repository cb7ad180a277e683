#include "ronde/bench/trace/trace_pairs.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "ronde/bench/detail/command.h"

namespace ronde::bench::detail {

TracePairs take_pairs(int pairs, const std::function<double()>& plain, const std::function<double()>& recorded) {
  std::vector<double> plains, recordeds, ratios;
  for (int pair = 0; pair < pairs; ++pair) {
    const bool plain_first = pair % 2 == 0;
    double first = plain_first ? plain() : recorded();
    double second = plain_first ? recorded() : plain();
    if (!plain_first) std::swap(first, second);
    plains.push_back(first);
    recordeds.push_back(second);
    ratios.push_back(second / first);
  }
  return {.plain_us = median(std::move(plains)),
          .recorded_us = median(std::move(recordeds)),
          .ratio = median(std::move(ratios))};
}

int rounds_for(double round_us, double turn_us) {
  constexpr double kMost = 1000;
  return static_cast<int>(std::clamp(turn_us / std::max(round_us, 1.0), 1.0, kMost));
}

}  // namespace ronde::bench::detail
