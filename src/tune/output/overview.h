#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "ronde/base/text/table.h"
#include "ronde/tune/search.h"

// What a search has done so far, as text for people. All pure.
namespace ronde::tune {

// How long the job has been at it, and what it found when it began.
struct Progress {
  std::chrono::nanoseconds elapsed{0};      // 0: not known, and not shown
  int done_before = 0;                      // trials
  std::chrono::nanoseconds time_budget{0};  // 0: none
};

// "12/30 trials done, 5 of them stopped early, 1 failed, 2 running, best loss 0.0123 (trial 7), 1 min 2 s, about 2 min
// left".
std::string headline(const Search& search, const Progress& progress);

// Of the trials that this job has ended, at their pace; nothing before the first, and where no end is known.
std::optional<std::chrono::nanoseconds> time_left(const Search& search, const Progress& progress);

// Numbers of trials, the best first; those without a score last.
std::vector<int> by_score(const Search& search);

// One row per trial: number, state, iterations, the metric, seconds, and what was drawn for it.
Table trial_table(const Search& search, const std::vector<int>& trials);

// The headline, and the best trials and those that run, in at most so many lines.
std::string overview(const Search& search, const Progress& progress, std::size_t lines);

}  // namespace ronde::tune
