#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "ronde/base/settings/settings.h"
#include "ronde/report/advice.h"
#include "ronde/report/testing/make_run.h"

// A training made by hand, and all that rules look at, worked out from it.
namespace ronde::report::testing {

inline std::int64_t ms(double milliseconds) {
  return static_cast<std::int64_t>(milliseconds * 1e6 + 0.5);
}

// One step, in milliseconds. All ranks wait for input, work (half forward, half backward), ask for one collective,
// which takes `move` after the last has asked, wait for it, and update the weights.
struct MadeStep {
  std::vector<double> work = {};  // by rank
  double input = 0, move = 0, optimizer = 0;
  std::uint64_t bytes = 4'000'000;
};

// Returns where it ends.
inline std::int64_t add_step(MakeRun& make, std::int64_t number, std::int64_t begin, const MadeStep& step) {
  const std::int64_t start = begin + ms(step.input);
  std::int64_t last = 0;
  for (const double work : step.work) last = std::max(last, start + ms(work));
  const std::int64_t done = last + ms(step.move), end = done + ms(step.optimizer);
  for (std::size_t i = 0; i < step.work.size(); ++i) {
    const int rank = static_cast<int>(i);
    const std::int64_t half = start + ms(step.work[i] / 2), asks = start + ms(step.work[i]);
    make.step(rank, number, begin, end);
    if (step.input > 0) make.span(rank, "training", "wait for input", begin, start);
    make.span(rank, "training", "forward", start, half);
    make.span(rank, "training", "backward", half, asks);
    make.collective(rank, asks, asks, done, step.bytes, static_cast<std::uint64_t>(number));
    if (done > asks) make.span(rank, "training", "wait for communication", asks, done);
    if (step.optimizer > 0) make.span(rank, "training", "optimizer", done, end);
  }
  return end;
}

inline std::int64_t add_steps(MakeRun& make, std::int64_t count, const std::function<MadeStep(std::int64_t)>& step) {
  std::int64_t at = 0;
  for (std::int64_t number = 0; number < count; ++number) at = add_step(make, number, at, step(number));
  return at;
}

inline MakeRun made(int ranks, std::int64_t count, const MadeStep& step) {
  MakeRun make(ranks);
  add_steps(make, count, [&](std::int64_t) { return step; });
  return make;
}

// Keeps all that Evidence points to.
struct MadeEvidence {
  explicit MadeEvidence(trace::Run made)
      : run(std::move(made)),
        window(window_of(run)),
        efficiency(efficiency_of(run, window)),
        steps(steps_of(run, window)),
        phases(phases_of(run, window)),
        facts(facts_of(run, problems)) {}
  explicit MadeEvidence(MakeRun make) : MadeEvidence(make.take()) {}

  Evidence evidence() const {
    return {.run = run,
            .window = window,
            .efficiency = efficiency,
            .steps = steps,
            .phases = phases,
            .facts = facts,
            .input = input ? &*input : nullptr,
            .comm = comm ? &*comm : nullptr,
            .rates = rates ? &*rates : nullptr,
            .roofline = roofline ? &*roofline : nullptr};
  }
  // Every setting that is named must exist, and take that value.
  std::vector<Advice> advice() const {
    std::vector<Advice> all = advise(evidence());
    for (const Advice& one : all) {
      EXPECT_GE(one.gain, kLeastGain) << one.rule;
      EXPECT_LE(one.gain, 1) << one.rule;
      for (const std::string* text : {&one.title, &one.evidence, &one.change, &one.because})
        EXPECT_FALSE(text->empty()) << one.rule;
      if (one.setting.empty()) continue;
      const std::size_t equals = one.setting.find('=');
      EXPECT_NO_THROW(Settings().set(one.setting.substr(0, equals), one.setting.substr(equals + 1), "advice"))
          << one.setting;
    }
    return all;
  }
  // The one advice that there is; an empty one where there is none, or there are several.
  Advice only() const {
    const std::vector<Advice> all = advice();
    std::string rules;
    for (const Advice& one : all) rules += one.rule + " ";
    EXPECT_EQ(all.size(), 1u) << rules;
    return all.size() == 1 ? all[0] : Advice{};
  }

  std::vector<std::string> problems = {};
  trace::Run run;
  Window window;
  Efficiency efficiency;
  StepTable steps;
  Phases phases;
  JobFacts facts;
  std::optional<InputLimit> input = {};
  std::optional<CollectiveFit> comm = {};
  std::optional<MachineRates> rates = {};
  std::optional<LayerRoofline> roofline = {};
};

}  // namespace ronde::report::testing
