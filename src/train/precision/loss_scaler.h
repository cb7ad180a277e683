#pragma once

#include <cstdint>
#include <string>

namespace ronde::train {

// How losses are scaled so that gradients neither vanish nor overflow in f16 (Micikevicius et al., arXiv:1710.03740):
// the scale is halved when gradients overflow, a step that is skipped, and doubled after many that did not. A plain
// value, pure; ranks that see the same overflows have the same scale.
struct LossScaler {
  static constexpr double kFirst = 65536, kMost = 16777216;  // beyond 2^24 nothing is gained
  static constexpr int kGoodSteps = 2000;
  static constexpr int kMostInARow = 30;  // from kFirst down to 2^-14, the least normal number of f16

  bool dynamic = true;
  double scale = kFirst;
  std::int64_t good = 0;      // steps since the scale changed last, or since the last overflow
  std::int64_t in_a_row = 0;  // overflows since the last good step
  std::int64_t skipped = 0;   // steps, in all

  void step_was_good();
  void step_overflowed();
  bool hopeless() const { return in_a_row >= kMostInARow; }  // no scale helps

  friend bool operator==(const LossScaler&, const LossScaler&) = default;
};

// train.loss_scale: 0 is dynamic, all others are fixed.
LossScaler scaler_of(double setting);

// For checkpoints: "65536 120 0 3". What is fixed stays as the settings have it now, and so does what they have made
// dynamic since. FAILS WITH: BadInput.
std::string to_text(const LossScaler& scaler);
LossScaler parse_scaler(const std::string& text, const LossScaler& now);

}  // namespace ronde::train
