#include "ronde/data/picture/crop_plan.h"

#include <algorithm>

namespace ronde::data::picture {
namespace {

int up(int value, int by) {
  return (value + by - 1) / by;
}

}  // namespace

CropPlan plan_for(const Window& crop, const Header& header, int side) {
  CropPlan plan;
  const int least = std::min(crop.width, crop.height);
  if (header.format == Format::Jpeg)
    while (plan.shrink < 8 && least >= 2 * plan.shrink * side) plan.shrink *= 2;
  const int by = plan.shrink;
  plan.window.left = crop.left / by;
  plan.window.top = crop.top / by;
  plan.window.width = up(crop.left + crop.width, by) - plan.window.left;
  plan.window.height = up(crop.top + crop.height, by) - plan.window.top;
  plan.left = static_cast<double>(crop.left) / by - plan.window.left;
  plan.top = static_cast<double>(crop.top) / by - plan.window.top;
  plan.width = static_cast<double>(crop.width) / by;
  plan.height = static_cast<double>(crop.height) / by;
  return plan;
}

}  // namespace ronde::data::picture
