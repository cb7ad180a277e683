#pragma once

#include <string>

#include "ronde/base/settings.h"

namespace ronde::train {

// How the learning rate goes through a training, by epochs, so that it does not depend on batch or ranks. Pure.
struct Schedule {
  std::string name = "constant";  // or cosine: half a wave, down to zero at the end
  double rate = 0.1;              // after the warm-up
  double warmup = 0;              // epochs in which the rate grows from zero
  double epochs = 1;              // of the training

  // At a time in epochs, such as 1.25.
  double at(double epoch) const;
};

// The settings schedule.* and optimizer.lr. FAILS WITH: BadInput for a warm-up beyond the end.
Schedule schedule_of(const Settings& settings);

}  // namespace ronde::train
