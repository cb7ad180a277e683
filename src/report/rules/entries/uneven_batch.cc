#include <cstdint>

#include "ronde/base/text/format.h"
#include "ronde/report/rules/entry.h"
#include "ronde/report/rules/slow_ranks.h"

// Samples do not divide by ranks: some have one more than others.
namespace ronde::report::rules {
namespace {

constexpr double kUnevenExplains = 0.5;  // of the excess, by shares of the batch that differ

std::optional<Advice> find(const Evidence& evidence) {
  const auto ranks = static_cast<std::int64_t>(evidence.run.world_size);
  const std::int64_t batch = evidence.facts.batch;
  if (batch <= 0 || ranks <= 0 || batch % ranks == 0) return {};
  const std::int64_t least = batch / ranks;
  const auto slow = find_slow(evidence);
  const double expected = least > 0 ? 1.0 / static_cast<double>(least) : 1;
  if (!slow || expected < kUnevenExplains * slow->excess) return {};
  Advice advice = advice_on(evidence, *slow);
  advice.title = "The batch is not divisible by the number of ranks";
  advice.evidence += fmt::format(" With a batch of {}, some of the {} ranks get {} samples and others {}.", batch,
                                 ranks, least + 1, least);
  advice.change = "Choose a batch that is a multiple of the number of ranks.";
  advice.setting = fmt::format("train.batch={}", (least + 1) * ranks);
  advice.because = fmt::format("a batch of {} is not divisible by {} ranks", batch, ranks);
  return advice;
}

}  // namespace

RuleEntry uneven_batch_entry() {
  return {.name = "uneven_batch", .group = RuleGroup::Balance, .find = find, .replaces = {"slow_node", "slow_rank"}};
}

}  // namespace ronde::report::rules
