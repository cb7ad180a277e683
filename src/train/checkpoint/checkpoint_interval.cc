#include "ronde/train/checkpoint/checkpoint_interval.h"

#include <algorithm>
#include <cmath>

#include "ronde/base/text/format.h"
#include "ronde/base/text/text.h"
#include "ronde/base/text/units.h"

namespace ronde::train {
namespace {

using std::chrono::nanoseconds;
using Seconds = std::chrono::duration<double>;

constexpr double kSlowDisk = 50e6;  // bytes a second
constexpr auto kSlowStart = Seconds(1);

nanoseconds to_time(Seconds seconds) {
  return std::chrono::duration_cast<nanoseconds>(seconds);
}

}  // namespace

nanoseconds best_interval(nanoseconds cost, nanoseconds mtbf) {
  const double delta = Seconds(cost).count(), m = Seconds(mtbf).count();
  if (delta >= 2 * m) return mtbf;
  const double x = std::sqrt(delta / (2 * m));
  return to_time(Seconds(std::sqrt(2 * delta * m) * (1 + x / 3 + x * x / 9) - delta));
}

nanoseconds chosen_interval(const CheckpointCost& cost, nanoseconds node_mtbf, int nodes) {
  return std::max(best_interval(cost.lost, node_mtbf / nodes), cost.total);
}

std::string interval_sentence(const CheckpointCost& cost, nanoseconds node_mtbf, int nodes) {
  return fmt::format(
      "checkpoint every {} (auto): each costs {} and is written after {}; a failure is expected every {} on {} "
      "(checkpoint.mtbf)",
      format_duration(chosen_interval(cost, node_mtbf, nodes)), format_duration(cost.lost), format_duration(cost.total),
      format_duration(node_mtbf / nodes), counted(static_cast<std::size_t>(nodes), "node"));
}

nanoseconds guessed_time(std::uint64_t bytes) {
  return to_time(kSlowStart + Seconds(static_cast<double>(bytes) / kSlowDisk));
}

}  // namespace ronde::train
