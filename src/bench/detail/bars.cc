#include "ronde/bench/detail/bars.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace ronde::bench::detail {
namespace {

using Json = nlohmann::ordered_json;
using Value = std::function<double(const Json&)>;

constexpr std::size_t kKiB = 1024, kMiB = kKiB * 1024, kNoLimit = std::numeric_limits<std::size_t>::max();

// The values of a key, or what `value` makes of a row, over sizes from `least` to `most`.
std::vector<double> values(const Json& rows, std::size_t least, std::size_t most,
                           std::initializer_list<const char*> needs, const Value& value) {
  std::vector<double> found;
  for (const Json& row : rows) {
    const std::size_t bytes = row.at("bytes");
    const bool ordinary = row.at("dtype") == "f32" && row.at("memory") == "heap";
    const bool complete =
        std::ranges::all_of(needs, [&](const char* key) { return row.contains(key) && row.at(key).is_number(); });
    if (ordinary && complete && bytes >= least && bytes <= most) found.push_back(value(row));
  }
  return found;
}

Value key(const char* name) {
  return [name](const Json& row) { return row.at(name).get<double>(); };
}

double geometric_mean(const std::vector<double>& numbers) {
  double sum = 0.0;
  for (const double number : numbers) sum += std::log(number);
  return std::exp(sum / static_cast<double>(numbers.size()));
}

}  // namespace

std::vector<Bar> allreduce_bars(const Json& rows) {
  std::vector<Bar> bars;
  const auto add_worst = [&](Bar bar, const std::vector<double>& found) {
    if (found.empty()) return;
    bar.value = bar.at_least ? std::ranges::min(found) : std::ranges::max(found);
    bars.push_back(std::move(bar));
  };
  const int ranks = rows.at(0).at("ranks");
  const Value spread = [](const Json& row) { return row.at("p90_us").get<double>() / row.at("p50_us").get<double>(); };
  add_worst({"worst_p90_over_p50", "by name: the ninth tenth of calls over their median, worst", 0, 3, false},
            values(rows, 0, kNoLimit, {"p50_us", "p90_us"}, spread));
  if (ranks <= 2) {
    const Value over_mpi = [](const Json& row) {
      return row.at("link_us").get<double>() - row.at("mpi_us").get<double>();
    };
    add_worst({"worst_link_over_mpi_us", "the link alone over MPI, below 16 KiB, worst, us", 0, 1, false},
              values(rows, 0, 16 * kKiB - 1, {"link_us", "mpi_us"}, over_mpi));
    add_worst({"worst_small_us", "a blocking allreduce by name, up to 1 KiB, worst, us", 0, 20, false},
              values(rows, 0, kKiB, {"median_us"}, key("median_us")));
  } else {
    const Value link_ratio = [](const Json& row) {
      return row.at("mpi_us").get<double>() / row.at("link_us").get<double>();
    };
    add_worst({"worst_link_ratio_mpi", "MPI over the link alone, below 128 KiB, worst", 0, 1, true},
              values(rows, 0, 128 * kKiB - 1, {"link_us", "mpi_us"}, link_ratio));
  }
  add_worst({"worst_ratio_mpi", "MPI over Ronde, from 128 KiB, worst", 0, 1, true},
            values(rows, 128 * kKiB, kNoLimit, {"ratio_mpi"}, key("ratio_mpi")));
  if (ranks > 2) return bars;
  if (const auto found = values(rows, kMiB, 64 * kMiB, {"ratio_mpi"}, key("ratio_mpi")); !found.empty())
    bars.push_back({"mean_ratio_mpi", "MPI over Ronde, 1 to 64 MiB, geometric mean", geometric_mean(found), 4, true});
  add_worst({"worst_ratio_gloo", "gloo over Ronde, up to 1 MiB, worst", 0, 10, true},
            values(rows, 0, kMiB, {"ratio_gloo"}, key("ratio_gloo")));
  add_worst({"worst_ratio_horovod", "Horovod over Ronde, up to 1 MiB, worst", 0, 10, true},
            values(rows, 0, kMiB, {"ratio_horovod"}, key("ratio_horovod")));
  return bars;
}

}  // namespace ronde::bench::detail
