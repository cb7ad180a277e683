#include "ronde/train/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "ronde/base/error.h"
#include "ronde/base/text.h"

namespace ronde::train {

double Schedule::at(double epoch) const {
  if (epoch < warmup) return rate * epoch / warmup;
  if (name == "constant") return rate;
  const double done = std::clamp((epoch - warmup) / std::max(epochs - warmup, 1e-12), 0.0, 1.0);
  return rate * 0.5 * (1 + std::cos(std::numbers::pi * done));
}

Schedule schedule_of(const Settings& settings) {
  const Schedule schedule{.name = settings.get<"schedule.name">(),
                          .rate = settings.get<"optimizer.lr">(),
                          .warmup = parse_number<double>(settings.get<"schedule.warmup">()).value_or(0),
                          .epochs = static_cast<double>(settings.get<"train.epochs">())};
  if (schedule.warmup > schedule.epochs)
    throw Error::bad_input("schedule.warmup is {} epochs, but train.epochs is {}: the warm-up would never end",
                           schedule.warmup, schedule.epochs);
  return schedule;
}

}  // namespace ronde::train
