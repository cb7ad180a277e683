#include "ronde/report/rules/one_rank.h"

#include <algorithm>

#include "ronde/base/text/format.h"
#include "ronde/report/rules.h"

namespace ronde::report::rules {
namespace {

std::optional<AdvicePlace> place(const Evidence& evidence, const SequentialPart& part) {
  const auto rank = std::ranges::find(evidence.run.ranks, part.rank, &trace::RankTrace::rank);
  if (rank == evidence.run.ranks.end()) return {};
  return place_of(evidence, static_cast<std::size_t>(rank - evidence.run.ranks.begin()), part.longest);
}

}  // namespace

OneRank alone_in(const Evidence& evidence, PhaseKind kind) {
  OneRank all;
  for (const SequentialPart& part : evidence.phases.sequential.parts) {
    if (part.phase != kind) continue;
    all.seconds += part.seconds;
    if (!all.longest || part.seconds > all.longest->seconds) all.longest = &part;
  }
  return all;
}

double spread(const Evidence& evidence, double seconds) {
  const double ranks = std::max<double>(1, static_cast<double>(evidence.run.ranks.size()));
  return evidence.efficiency.seconds > 0 ? seconds * (1 - 1 / ranks) / evidence.efficiency.seconds : 0;
}

Advice advice_on(const Evidence& evidence, const OneRank& alone) {
  const SequentialPart& part = *alone.longest;
  Advice advice{.gain = spread(evidence, alone.seconds), .at = place(evidence, part)};
  advice.evidence =
      fmt::format("'{}' on rank {} takes {} of {}, during which all other ranks wait or have finished.", part.name,
                  part.rank, seconds_text(part.seconds), seconds_text(evidence.efficiency.seconds));
  return advice;
}

}  // namespace ronde::report::rules
