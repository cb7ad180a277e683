#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "ronde/tune/search.h"

namespace ronde::tune {

// What the table [tune] of a file says about a search:
//
//   [tune]
//   metric = "loss"
//   mode = "min"
//   samples = 50
//   scheduler = "asha"
//   scheduler_options = {max_t = 30}
//   stop = {loss = 0.01}
//
//   [tune.space]
//   lr = {loguniform = [1e-4, 1e-1]}
//   model.width = {choice = [32, 64]}
struct SearchFile {
  SearchOptions options;
  int concurrency = 0;                        // trials at once; 0: one per core
  std::chrono::nanoseconds trial_timeout{0};  // 0: none
  std::chrono::nanoseconds time_budget{0};    // 0: none
};

// The table [tune] of a TOML text, as JSON; `name` is what errors call the text.
// FAILS WITH: BadInput for what is no TOML, has no such table, or has another one.
Json read_tune_table(std::string_view text, const std::string& name);

// FAILS WITH: BadInput for a key that there is not, suggesting the nearest, or a value of another kind. Pure.
SearchFile search_file(const Json& table, const std::string& name);

}  // namespace ronde::tune
