#include "ronde/report/rules/input_waits.h"

#include "ronde/base/text/format.h"
#include "ronde/base/text/text.h"
#include "ronde/report/rules.h"
#include "ronde/report/run/numbers.h"
#include "ronde/report/run/speed.h"

namespace ronde::report::rules {

std::optional<Advice> waits_for_input(const Evidence& evidence) {
  const Efficiency& efficiency = evidence.efficiency;
  if (efficiency.seconds <= 0) return {};
  Advice advice{.gain = 1 - efficiency.no_input_seconds / efficiency.seconds};
  if (advice.gain < kLeastGain) return {};
  double most = -1;
  for (std::size_t i = 0; i < evidence.run.ranks.size(); ++i) {
    const Ranges waits = waits_of(evidence.run, evidence.run.ranks[i], evidence.window.ranks[i]).input;
    const double waited = seconds(length(waits));
    if (const auto wait = longest(waits); wait && waited > most) {
      most = waited;
      advice.at = place_of(evidence, i, *wait);
      advice.evidence =
          fmt::format("Rank {} waits {} of {} for input ({}). With free input the run would take {}.",
                      evidence.run.ranks[i].rank, seconds_text(waited), seconds_text(efficiency.seconds),
                      percent_text(waited / efficiency.seconds), seconds_text(efficiency.no_input_seconds));
    }
  }
  advice.because = "training waits for its input";
  if (evidence.input && !evidence.input->limit.empty()) {
    const InputStage* stage = evidence.input->limiting();
    const std::string threads =
        stage && stage->threads > 0
            ? fmt::format(" ({} per rank)", counted(static_cast<std::size_t>(stage->threads), "thread"))
            : std::string();
    advice.evidence += fmt::format(" The other stages wait for '{}'{}.", evidence.input->limit, threads);
    advice.because += fmt::format(", which is limited by '{}'", evidence.input->limit);
  }
  return advice;
}

std::string path_of(const Evidence& evidence) {
  return setting(evidence.facts, "data.path").value_or("FOLDER");
}

}  // namespace ronde::report::rules
