#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ronde/base/log.h"
#include "ronde/bench/detail/contestant.h"

namespace ronde::bench::detail {

// Something to be timed, by whoever answers.
struct Heat {
  std::string name;  // of the figure, "link"
  std::string what;  // Command::what
  std::function<std::optional<Timing>(const Command&)> ask;
};

// How many rounds to time, so that a batch takes long enough for the clock and a turn not too long for the user.
// `first_us`: what one round took. Pure.
Command planned(Command command, double first_us);

// Gives each in turn the same to do, `turns` times round, after one that only finds out how long it takes. Returns the
// medians of each by position, over the turns; nothing for who cannot do it.
// FAILS WITH: what ask() fails with.
std::vector<std::optional<Timing>> take_turns(const std::vector<Heat>& heats, const Command& what, int turns);

}  // namespace ronde::bench::detail
