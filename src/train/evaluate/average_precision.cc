#include "ronde/train/evaluate/average_precision.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ronde::train {
namespace {

Scored scored_of(float score, bool holds) {
  constexpr float kMost = std::numeric_limits<float>::infinity();
  return {.score = std::isnan(score) ? (holds ? -kMost : kMost) : score, .holds = holds};
}

}  // namespace

std::optional<double> average_precision(std::span<Scored> scored) {
  for (Scored& one : scored) one = scored_of(one.score, one.holds);
  std::ranges::sort(scored, std::ranges::greater(), &Scored::score);
  std::int64_t seen = 0, held = 0;
  double sum = 0;
  for (std::size_t i = 0; i < scored.size();) {
    std::int64_t gained = 0;
    const float threshold = scored[i].score;
    for (; i < scored.size() && scored[i].score == threshold; ++i, ++seen) gained += scored[i].holds;
    held += gained;
    sum += static_cast<double>(gained) * static_cast<double>(held) / static_cast<double>(seen);
  }
  if (held == 0) return {};
  return sum / static_cast<double>(held);
}

AveragePrecision mean_average_precision(std::span<const float> scores, std::span<const std::uint8_t> flags,
                                        std::size_t classes) {
  AveragePrecision found;
  std::vector<Scored> list;
  list.reserve(scores.size());
  double sum = 0;
  std::int64_t present = 0;
  for (std::size_t label = 0; label < classes; ++label) {
    list.clear();
    for (std::size_t i = label; i < scores.size(); i += classes) list.push_back({scores[i], flags[i] != 0});
    found.classes.push_back(average_precision(list));
    if (!found.classes.back()) continue;
    sum += *found.classes.back();
    ++present;
  }
  list.clear();
  for (std::size_t i = 0; i < scores.size(); ++i) list.push_back({scores[i], flags[i] != 0});
  found.mean = {.micro = average_precision(list).value_or(0),
                .macro = present == 0 ? 0 : sum / static_cast<double>(present)};
  return found;
}

}  // namespace ronde::train
