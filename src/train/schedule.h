#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ronde/train/options.h"

namespace ronde::train {

// A place in a training as settings write it: "30", "2.5" or "30epochs" in epochs, "500steps" in steps.
struct Place {
  double count = 0;
  bool in_steps = false;

  double steps(std::int64_t steps_per_epoch) const {
    return in_steps ? count : count * static_cast<double>(steps_per_epoch);
  }
  friend bool operator==(const Place&, const Place&) = default;
};
// `key` is the setting, for messages. FAILS WITH: BadInput.
Place parse_place(std::string_view key, std::string_view text);
// "30,60,80"; empty: none.
std::vector<Place> parse_places(std::string_view key, std::string_view text);

enum class Decline { Constant, Cosine, Step, Polynomial, OneCycle };
Decline decline_of(std::string_view name);  // of schedule.name; Constant for all others

// How the learning rate goes through a training. Places count steps from the very beginning, whatever the number of
// ranks and the breaks in between. A plain value; all of it is pure.
struct Schedule {
  Decline decline = Decline::Constant;
  double rate = 0.1;                    // the highest
  double warmup = 0;                    // steps in which the rate grows evenly,
  double start = 0;                     // from this share of the highest
  double length = 1;                    // the step at which it ends: what comes after has the last rate
  double end = 0;                       // share of the highest that it ends at: cosine, polynomial, onecycle
  double power = 2;                     // polynomial: 1 is a straight line
  std::vector<double> milestones = {};  // step: at each of them,
  double factor = 0.1;                  // the rate is multiplied by this
  double peak = 0.3;                    // onecycle: share of the length at which the rate is highest

  // In the step with this number, counted from 0. A step in the middle of two batches may have a fraction.
  double at(double step) const;
};

// optimizer.lr for a batch, scaled as optimizer.lr_scaling says: (train.batch / optimizer.lr_batch) times, or the
// square root of that.
double scaled_rate(const TrainingOptions& options);

// What schedule.*, optimizer.lr* and train.epochs ask for. The training ends after train.epochs: that train.steps stops
// it earlier moves nothing, since it may go on from there.
// FAILS WITH: BadInput, naming the setting: something that is no place, a schedule that is longer than the training, a
// warm-up beyond its end, milestones that do not ascend or lie beyond the end.
Schedule schedule_of(const TrainingOptions& options, std::int64_t steps_per_epoch);

}  // namespace ronde::train
