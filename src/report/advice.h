#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ronde/base/system/hardware.h"
#include "ronde/report/communication/collectives.h"
#include "ronde/report/compute/efficiency.h"
#include "ronde/report/compute/layer_roofline.h"
#include "ronde/report/input/input_limit.h"
#include "ronde/report/run/job_facts.h"
#include "ronde/report/run/window.h"
#include "ronde/report/steps/phases.h"
#include "ronde/report/steps/steps.h"
#include "ronde/trace/file/run.h"

// What to change so that a run becomes faster, and how much it can bring at most. Pure.
namespace ronde::report {

// All that rules look at. What is null is not known, and rules that need it say nothing.
struct Evidence {
  const trace::Run& run;
  const Window& window;
  const Efficiency& efficiency;
  const StepTable& steps;
  const Phases& phases;
  const JobFacts& facts;
  const InputLimit* input = nullptr;
  const CollectiveFit* comm = nullptr;
  const MachineRates* rates = nullptr;  // of the device that trains
  const LayerRoofline* roofline = nullptr;
};

// Where in the timeline it can be seen. Seconds since the window's begin.
struct AdvicePlace {
  int rank = 0;
  std::optional<std::int64_t> step = {};  // none: outside of steps
  double begin = 0, end = 0;
};

struct Advice {
  std::string rule = {};      // "slow_rank"
  std::string title = {};     // "One rank is slower than the others"
  std::string evidence = {};  // sentences with the numbers
  std::string change = {};    // what to do
  std::string setting = {};   // "data.threads=8", or empty where no setting does it
  double gain = 0;            // the most that it can bring, as a share of the run's time
  std::optional<AdvicePlace> at = {};
  std::string because = {};  // for the verdict: "rank 1 (node7) is 30 % slower than the others"
};

// What all rules find; rules/entry.h says what a rule is, and each is a file in rules/entries/.
//
// Most gain first. What would bring less than kLeastGain is left out, and so is what only follows from something else
// that is named. Empty: nothing is wrong.
inline constexpr double kLeastGain = 0.02;
std::vector<Advice> advise(const Evidence& evidence);

struct Verdict {
  enum class State { Good, Fair, Poor, Unknown };  // Unknown: there is no grade, see why_no_grade()
  State state = State::Good;
  std::string text = {};  // a sentence; where there is no grade, first why
};
std::string_view name(Verdict::State state);  // "good", "fair", "poor", "unknown"

// `advice`: what advise() returned for it.
Verdict verdict_of(const Evidence& evidence, const std::vector<Advice>& advice);

// "data.threads=8" as a flag: "--data-threads 8". Empty where it is no setting.
std::string flag_of(std::string_view setting);

}  // namespace ronde::report
