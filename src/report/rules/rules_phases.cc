#include <algorithm>

#include "ronde/base/text/format.h"
#include "ronde/report/rules.h"

// One rank does something while the others wait, or all wait for a checkpoint.
namespace ronde::report::rules {
namespace {

constexpr double kMostlyOneRank = 0.5;  // of the time that saving takes

struct OneRank {
  double seconds = 0;
  const SequentialPart* longest = nullptr;
};

OneRank alone_in(const Evidence& evidence, PhaseKind kind) {
  OneRank all;
  for (const SequentialPart& part : evidence.phases.sequential.parts) {
    if (part.phase != kind) continue;
    all.seconds += part.seconds;
    if (!all.longest || part.seconds > all.longest->seconds) all.longest = &part;
  }
  return all;
}

// Spread over all ranks it would take its share of the time.
double spread(const Evidence& evidence, double seconds) {
  const double ranks = std::max<double>(1, static_cast<double>(evidence.run.ranks.size()));
  return evidence.efficiency.seconds > 0 ? seconds * (1 - 1 / ranks) / evidence.efficiency.seconds : 0;
}

std::optional<AdvicePlace> place(const Evidence& evidence, const SequentialPart& part) {
  const auto rank = std::ranges::find(evidence.run.ranks, part.rank, &trace::RankTrace::rank);
  if (rank == evidence.run.ranks.end()) return {};
  return place_of(evidence, static_cast<std::size_t>(rank - evidence.run.ranks.begin()), part.longest);
}

Advice sequential(const Evidence& evidence, const OneRank& alone) {
  const SequentialPart& part = *alone.longest;
  Advice advice{.gain = spread(evidence, alone.seconds), .at = place(evidence, part)};
  advice.evidence =
      fmt::format("'{}' on rank {} takes {} of {}, during which all other ranks wait or have finished.", part.name,
                  part.rank, seconds_text(part.seconds), seconds_text(evidence.efficiency.seconds));
  return advice;
}

Advice for_saving(const Evidence& evidence, double seconds, const OneRank& alone) {
  Advice advice;
  if (alone.longest) advice = sequential(evidence, alone);
  advice.rule = "checkpoint";
  if (advice.evidence.empty())
    advice.evidence = fmt::format("Saving checkpoints takes {} of {}.", seconds_text(seconds),
                                  seconds_text(evidence.efficiency.seconds));
  advice.because = "training stops while checkpoints are saved";
  const double all = evidence.efficiency.seconds > 0 ? seconds / evidence.efficiency.seconds : 0;
  if (is_off(evidence.facts, "checkpoint.background")) {
    advice.title = "Training waits while checkpoints are written";
    advice.change = "Write checkpoints in the background.";
    advice.setting = "checkpoint.background=true";
    advice.gain = all;
  } else if (alone.seconds > kMostlyOneRank * seconds && !is_on(evidence.facts, "checkpoint.sharded")) {
    advice.title = "One rank saves checkpoints while the others wait";
    advice.change = "Let every rank write its share of a checkpoint.";
    advice.setting = "checkpoint.sharded=true";
    advice.gain = spread(evidence, alone.seconds);
  } else {
    advice.title = "Saving checkpoints takes much of the time";
    advice.change = "Save less often: auto balances the cost of a checkpoint against the cost of a failure.";
    advice.setting = "checkpoint.every=auto";
    advice.gain = all;
  }
  return advice;
}

}  // namespace

std::vector<Advice> of_phases(const Evidence& evidence) {
  std::vector<Advice> all;
  if (const OneRank testing = alone_in(evidence, PhaseKind::Testing); testing.longest) {
    Advice advice = sequential(evidence, testing);
    advice.rule = "evaluation";
    advice.title = "One rank evaluates while the others wait";
    advice.change = "Let every rank evaluate its share of the samples and add up the results, as 'ronde train' does.";
    advice.because = fmt::format("rank {} evaluates alone while the others wait", testing.longest->rank);
    all.push_back(std::move(advice));
  }
  if (const Phase* saving = evidence.phases.find(PhaseKind::Saving))
    all.push_back(for_saving(evidence, saving->seconds, alone_in(evidence, PhaseKind::Saving)));
  if (const OneRank work = alone_in(evidence, PhaseKind::Training); work.longest) {
    Advice advice = sequential(evidence, work);
    advice.rule = "sequential";
    advice.title = "One rank works while the others wait";
    advice.change = "Divide this work among the ranks, or do it on a background thread.";
    advice.because =
        fmt::format("rank {} does '{}' alone while the others wait", work.longest->rank, work.longest->name);
    all.push_back(std::move(advice));
  }
  return all;
}

}  // namespace ronde::report::rules
