#include "ronde/report/run/speed.h"

#include <algorithm>
#include <map>

#include "ronde/base/text/format.h"
#include "ronde/base/text/units.h"

namespace ronde::report {

double samples_per_second(const JobFacts& facts, const Window& window, double seconds) {
  if (facts.batch <= 0 || window.steps <= 0 || !(seconds > 0)) return 0;
  return static_cast<double>(facts.batch) * static_cast<double>(window.steps) / seconds;
}

int ranks_a_node(const trace::Run& run, const JobFacts& facts) {
  std::map<std::string, int> by_host;
  int most = 1;
  for (const trace::RankTrace& rank : run.ranks) most = std::max(most, ++by_host[rank.host]);
  // Ranks whose files are missing were there all the same.
  const auto nodes = static_cast<int>(std::max<std::size_t>(1, by_host.size()));
  if (facts.nodes <= nodes) most = std::max(most, (run.world_size + nodes - 1) / nodes);
  return most;
}

std::string percent_text(double share) {
  const double percent = 100 * share;
  if (percent > 0 && percent < 0.05) return "under 0.1 %";
  return percent < 9.95 && percent > 0 ? fmt::format("{:.1f} %", percent) : fmt::format("{:.0f} %", percent);
}

std::string amount_text(double value, const char* unit) {
  return value < 10 ? fmt::format("{:.3g} {}", value, unit) : fmt::format("{:.0f} {}", value, unit);
}

std::string size_text(double bytes) {
  constexpr double kMost = 1e18;  // far from what does not fit
  return format_bytes(static_cast<std::uint64_t>(std::clamp(bytes, 0.0, kMost)));
}

std::string speed_text(double samples_per_second) {
  return samples_per_second < 10 ? fmt::format("{:.2f}", samples_per_second)
                                 : fmt::format("{:.0f}", samples_per_second);
}

}  // namespace ronde::report
