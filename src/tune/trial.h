#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ronde/tune/space/space.h"

namespace ronde::tune {

enum class TrialState { Pending, Running, Paused, Terminated, Error };

std::string_view name(TrialState state);  // PENDING, RUNNING, ... as Ray Tune has them

// One run of a search: a configuration and what was reported of it. A plain value.
struct Trial {
  int number = 0;
  Json config = nullptr;                   // all of it
  std::map<std::string, Json> drawn = {};  // by path, what was drawn: what samplers learn from
  TrialState state = TrialState::Pending;
  Json last_result = nullptr;  // with what is filled in (training_iteration, ...); null before the first
  int reports = 0;
  std::optional<double> score = {};  // of the last report; larger is better
  std::optional<double> best_score = {};
  bool stopped_early = false;  // by the scheduler, before its own end
  int failures = 0;
  std::string error = {};       // the last one
  std::string checkpoint = {};  // the newest, as the program named it; empty: none
  int checkpoint_reports = 0;   // when it was saved
  double seconds = 0;           // of training, over all its starts
};

// What there is to tell about it, for programs: number, config, state, last_result, ...
Json to_json(const Trial& trial);

}  // namespace ronde::tune
