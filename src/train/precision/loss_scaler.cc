#include "ronde/train/precision/loss_scaler.h"

#include <algorithm>
#include <cmath>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"

namespace ronde::train {

void LossScaler::step_was_good() {
  in_a_row = 0;
  if (!dynamic || ++good < kGoodSteps) return;
  good = 0;
  scale = std::min(2 * scale, kMost);
}

void LossScaler::step_overflowed() {
  good = 0;
  ++in_a_row;
  ++skipped;
  if (dynamic) scale /= 2;
}

LossScaler scaler_of(double setting) {
  if (setting == 0) return {};
  return {.dynamic = false, .scale = setting};
}

std::string to_text(const LossScaler& scaler) {
  return fmt::format("{} {} {} {}{}", scaler.scale, scaler.good, scaler.in_a_row, scaler.skipped,
                     scaler.dynamic ? "" : " fixed");
}

LossScaler parse_scaler(const std::string& text, const LossScaler& now) {
  const auto pieces = split(text, ' ');
  const auto number = [&](std::size_t i) {
    const auto found = i < pieces.size() ? parse_number<double>(pieces[i]) : std::nullopt;
    if (!found || !std::isfinite(*found) || *found < 0)
      throw Error::bad_input("the checkpoint has the invalid loss scale '{}'", text);
    return *found;
  };
  const auto count = [&](std::size_t i) { return static_cast<std::int64_t>(number(i)); };
  LossScaler scaler = now;
  scaler.skipped = count(3);
  if (const bool fixed = pieces.size() > 4; fixed || !now.dynamic) return scaler;
  scaler.scale = number(0);
  scaler.good = count(1);
  scaler.in_a_row = count(2);
  return scaler;
}

}  // namespace ronde::train
