#include "ronde/bench/comm/turns.h"

#include <algorithm>

namespace ronde::bench::detail {
namespace {

constexpr int kWarmUp = 4;          // our plan stands after three
constexpr double kBatchUs = 2000;   // a thousand times the clock's own cost
constexpr double kLongUs = 20'000;  // from here on a round is a batch, and three of them are enough
constexpr double kMostRounds = 2000;

}  // namespace

Command planned(Command command, double first_us) {
  command.warm_up = kWarmUp;
  command.batches = first_us < kLongUs ? 5 : 3;
  command.rounds = static_cast<int>(std::clamp(kBatchUs / std::max(first_us, 0.01), 1.0, kMostRounds));
  return command;
}

std::vector<std::optional<double>> take_turns(const std::vector<Heat>& heats, const Command& what, int turns) {
  std::vector<std::optional<Command>> plans;
  for (const Heat& heat : heats) {
    Command command = what;
    command.what = heat.what;
    command.warm_up = kWarmUp;
    const auto first = heat.ask(command);
    plans.push_back(first ? std::optional(planned(command, *first)) : std::nullopt);
  }
  std::vector<std::vector<double>> times(heats.size());
  for (int turn = 0; turn < turns; ++turn)
    for (std::size_t i = 0; i < heats.size(); ++i)
      if (const auto time = plans[i] ? heats[i].ask(*plans[i]) : std::nullopt) times[i].push_back(*time);
  std::vector<std::optional<double>> medians;
  for (auto& mine : times) medians.push_back(mine.empty() ? std::nullopt : std::optional(median(std::move(mine))));
  return medians;
}

}  // namespace ronde::bench::detail
