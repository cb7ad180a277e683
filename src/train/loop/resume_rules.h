#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

// Whether a training may go on from a checkpoint that other settings have made. All pure, without torch.
namespace ronde {
class Settings;
}

namespace ronde::train {

// What a training is, and what a checkpoint remembers of the one that wrote it.
struct TrainingFacts {
  std::map<std::string, std::string> settings = {};  // all of them, as text
  std::map<std::string, std::string> found = {};     // what came of them: "classes" -> "10"; older ones have none
  int ranks = 1;
};

struct Difference {
  std::string what, before, now;
  friend bool operator==(const Difference&, const Difference&) = default;
};

struct Differences {
  std::vector<Difference> refused = {};  // model, data, classes, split and its seed, optimizer
  std::vector<Difference> told = {};     // what may change between jobs: ranks, batch, epochs, learning rate
  bool known = true;                     // false: the checkpoint has no settings at all
};

// What lies behind threads, folders, logs and the like changes no training, and is left out. A checkpoint of before
// data.split_seed was split by train.seed.
Differences differences_of(const TrainingFacts& before, const TrainingFacts& now);

// Why the checkpoint is refused, as a table, and the ways out. REQUIRES: something to refuse.
std::string refusal(const std::string& checkpoint, const Differences& differences);

// "train.batch 64 -> 128, ranks 2 -> 4"
std::string in_one_line(const std::vector<Difference>& differences);

// The key of what follows, in a checkpoint's extra.
inline constexpr const char* kGivenSettings = "given settings";
// Keys of the settings that are not left at their defaults, by commas: whether data.resolution was asked for makes a
// difference, even where it is the default.
std::string given_settings(const Settings& settings);

// By which settings of a checkpoint it is evaluated, as far as the user says nothing else: those that were given (as
// given_settings() says; checkpoints that do not know: those that are not as by default), without those by which the
// training wrote files, and without its plugins. An evaluation leaves these alone.
std::map<std::string, std::string> settings_to_evaluate(const std::map<std::string, std::string>& settings,
                                                        const std::optional<std::string>& given);

}  // namespace ronde::train
