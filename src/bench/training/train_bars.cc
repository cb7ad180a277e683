#include "ronde/bench/training/train_bars.h"

#include <algorithm>
#include <optional>
#include <string>

namespace ronde::bench::detail {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kMostMemory = 1.1;  // of what the same rank needs alone, and a bucket
constexpr double kOverPeers = 1.7;   // mlp-wide at 32, where the exchange costs them most
constexpr double kNeverBehind = 1.0;
constexpr double kPythonOverPeers = 1.6;  // mlp-wide at 32
constexpr double kPythonOverOurs = 1.03;
// torch's DDP over gloo over the same on our backend, mlp-wide at 32.
constexpr double kBackendArena = 1.5, kBackendPlain = 1.35;

std::optional<double> number(const Json& row, const char* key) {
  if (!row.contains(key) || !row.at(key).is_number()) return {};
  return row.at(key).get<double>();
}

void add(std::vector<Bar>& bars, const Json& row, const char* key, const char* words, double bar,
         bool at_least = true) {
  const auto value = number(row, key);
  if (!value) return;
  const std::string model = row.at("model"), batch = row.at("batch").dump();
  std::string name = model + "_" + batch + "_" + key;
  std::ranges::replace(name, '-', '_');
  bars.push_back({name, model + " at " + batch + ": " + words, *value, bar, at_least});
}

void add_memory(std::vector<Bar>& bars, const Json& row) {
  const auto ours = number(row, "pss_ours_bytes"), alone = number(row, "pss_alone_arena_bytes"),
             fusion = number(row, "fusion_bytes");
  if (!ours || !alone || !fusion) return;
  const std::string model = row.at("model"), batch = row.at("batch").dump();
  std::string name = model + "_" + batch + "_memory";
  std::ranges::replace(name, '-', '_');
  bars.push_back({name, model + " at " + batch + ": peak memory without a bucket, over that of the same rank alone",
                  (*ours - *fusion) / *alone, kMostMemory, false});
}

}  // namespace

std::vector<Bar> train_bars(const Json& rows) {
  std::vector<Bar> bars;
  for (const Json& row : rows) {
    const auto promised = std::ranges::find_if(kTrainCases, [&](const TrainCase& one) {
      return row.at("model") == one.model && row.at("batch") == one.batch;
    });
    if (promised == std::end(kTrainCases)) continue;
    add(bars, row, "efficiency", "alone over ours", promised->efficiency);
    add(bars, row, "efficiency_arena", "alone with the arena over ours", promised->efficiency_arena);
    const double most = promised == std::begin(kTrainCases) ? kOverPeers : kNeverBehind;
    add(bars, row, "ratio_ddp", "DDP over ours", most);
    add(bars, row, "ratio_horovod", "Horovod over ours", most);
    add(bars, row, "ratio_ddp_kept", "DDP that keeps its memory over ours", kNeverBehind);
    add(bars, row, "ratio_python", "Python's DistributedOptimizer over ours", kPythonOverOurs, false);
    add(bars, row, "ratio_python_ddp", "Python's DistributedDataParallel over ours", kPythonOverOurs, false);
    const bool wide = promised == std::begin(kTrainCases);
    if (wide || promised->model == "resnet18-cifar") {
      add(bars, row, "ddp_over_ddp_ronde", "torch's DDP over gloo over the same on our backend",
          wide ? kBackendArena : kNeverBehind);
      add(bars, row, "ddp_over_ddp_ronde_plain", "the same without the arena", wide ? kBackendPlain : kNeverBehind);
    }
    if (wide) add(bars, row, "ddp_over_python", "torch's DDP over Python's DistributedOptimizer", kPythonOverPeers);
    add_memory(bars, row);
  }
  return bars;
}

}  // namespace ronde::bench::detail
