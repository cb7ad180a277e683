#include "ronde/report/rules/arithmetic.h"

#include <algorithm>

namespace ronde::report::rules {

const RankSteps* with_most_work(const Evidence& evidence) {
  if (evidence.efficiency.seconds <= 0) return nullptr;
  const auto& ranks = evidence.steps.ranks;
  const auto most = std::ranges::max_element(ranks, {}, [](const RankSteps& rank) { return rank.all.work(); });
  return most == ranks.end() ? nullptr : &*most;
}

double arithmetic_seconds(const Evidence& evidence, const RankSteps& rank) {
  const auto& device = evidence.efficiency.device;
  const Factor* balance = device ? device->find("device_load_balance") : nullptr;
  if (!balance || balance->value <= 0) return rank.all.compute;
  return device->value / balance->value * evidence.efficiency.seconds;
}

}  // namespace ronde::report::rules
