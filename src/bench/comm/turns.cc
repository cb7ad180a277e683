#include "ronde/bench/comm/turns.h"

#include <algorithm>

namespace ronde::bench::detail {
namespace {

constexpr int kWarmUp = 4;          // our plan stands after three
constexpr double kBatchUs = 2000;   // a thousand times the clock's own cost
constexpr double kLongUs = 20'000;  // from here on a round is a batch, and three of them are enough
constexpr double kMostRounds = 2000;

// Of each figure by itself; of those that some turns lack, none.
std::optional<Timing> median_of(const std::vector<Timing>& turns) {
  if (turns.empty()) return {};
  const auto over_turns = [&](auto value) -> std::optional<double> {
    std::vector<double> values;
    for (const Timing& turn : turns)
      if (const std::optional<double> found = value(turn)) values.push_back(*found);
    return values.size() < turns.size() ? std::nullopt : std::optional(median(std::move(values)));
  };
  Timing middle(*over_turns([](const Timing& turn) { return std::optional(turn.us); }));
  middle.p50_us = over_turns([](const Timing& turn) { return turn.p50_us; });
  middle.p90_us = over_turns([](const Timing& turn) { return turn.p90_us; });
  return middle;
}

}  // namespace

Command planned(Command command, double first_us) {
  command.warm_up = kWarmUp;
  command.batches = first_us < kLongUs ? 5 : 3;
  command.rounds = static_cast<int>(std::clamp(kBatchUs / std::max(first_us, 0.01), 1.0, kMostRounds));
  return command;
}

std::vector<std::optional<Timing>> take_turns(const std::vector<Heat>& heats, const Command& what, int turns) {
  std::vector<std::optional<Command>> plans;
  for (const Heat& heat : heats) {
    Command command = what;
    command.what = heat.what;
    command.warm_up = kWarmUp;
    const auto first = heat.ask(command);
    plans.push_back(first ? std::optional(planned(command, first->us)) : std::nullopt);
  }
  std::vector<std::vector<Timing>> times(heats.size());
  for (int turn = 0; turn < turns; ++turn)
    for (std::size_t i = 0; i < heats.size(); ++i)
      if (const auto time = plans[i] ? heats[i].ask(*plans[i]) : std::nullopt) times[i].push_back(*time);
  std::vector<std::optional<Timing>> medians;
  for (const auto& mine : times) medians.push_back(median_of(mine));
  return medians;
}

}  // namespace ronde::bench::detail
