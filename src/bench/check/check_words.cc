#include "ronde/bench/check/check_words.h"

#include <chrono>
#include <cmath>
#include <vector>

#include "ronde/base/text/format.h"
#include "ronde/base/text/text.h"
#include "ronde/base/text/units.h"

namespace ronde::bench::detail {

std::string rank_list(std::span<const int> ranks) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin < ranks.size();) {
    std::size_t end = begin + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    parts.push_back(end == begin + 1 ? fmt::format("{}", ranks[begin])
                                     : fmt::format("{}-{}", ranks[begin], ranks[end - 1]));
    begin = end;
  }
  return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", join(parts, ", "));
}

std::string node_list(std::span<const int> numbers, const Nodes& nodes) {
  constexpr std::size_t kMost = 4;
  std::vector<std::string> names;
  for (const int node : numbers.first(std::min(kMost, numbers.size())))
    names.push_back(nodes.names[static_cast<std::size_t>(node)]);
  const std::string more = numbers.size() > kMost ? fmt::format(" and {} more", numbers.size() - kMost) : "";
  return fmt::format("{}{}", join(names, ", "), more);
}

std::string duration_text(double seconds) {
  return format_duration(std::chrono::nanoseconds(std::llround(seconds * 1e9)));
}

std::string rate_text(double bytes_per_s) {
  if (bytes_per_s >= 1e9) return fmt::format("{:.3g} GB/s", bytes_per_s / 1e9);
  return fmt::format("{:.3g} MB/s", bytes_per_s / 1e6);
}

}  // namespace ronde::bench::detail
