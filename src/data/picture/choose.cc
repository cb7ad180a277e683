#include "ronde/data/picture/choose.h"

#include <algorithm>
#include <cmath>

namespace ronde::data::picture {
namespace {

constexpr double kEvaluated = 0.875;  // of the short side: 224 of 256

Window middle(int width, int height, double wanted_width, double wanted_height) {
  const int across = std::clamp(static_cast<int>(std::lround(wanted_width)), 1, width);
  const int down = std::clamp(static_cast<int>(std::lround(wanted_height)), 1, height);
  return {(width - across) / 2, (height - down) / 2, across, down};
}

Window middle_square(int width, int height, double share) {
  const double side = share * std::min(width, height);
  return middle(width, height, side, side);
}

Window random_crop(const PictureOptions& options, int width, int height, Random& random) {
  constexpr int kTries = 10;
  const double area = static_cast<double>(width) * height;
  const double narrow = std::log(options.least_aspect), wide = std::log(options.most_aspect);
  for (int i = 0; i < kTries; ++i) {
    const double share = options.crop.least + (options.crop.most - options.crop.least) * random.uniform();
    const double aspect = std::exp(narrow + (wide - narrow) * random.uniform());
    const std::uint64_t column = random.next(), row = random.next();
    const auto across = static_cast<int>(std::lround(std::sqrt(area * share * aspect)));
    const auto down = static_cast<int>(std::lround(std::sqrt(area * share / aspect)));
    if (across < 1 || down < 1 || across > width || down > height) continue;
    const auto place = [](std::uint64_t number, int places) {  // as Random::below() does, of a number that is drawn
      return static_cast<int>((number >> 32) * static_cast<std::uint64_t>(places) >> 32);
    };
    return {place(column, width - across + 1), place(row, height - down + 1), across, down};
  }
  const double aspect = static_cast<double>(width) / height;
  if (aspect < options.least_aspect) return middle(width, height, width, width / options.least_aspect);
  if (aspect > options.most_aspect) return middle(width, height, height * options.most_aspect, height);
  return {0, 0, width, height};
}

}  // namespace

Change choose(const PictureOptions& options, int width, int height, Random random) {
  if (!options.augment) return {.crop = middle_square(width, height, kEvaluated)};
  Change change;
  const bool flip = random.below(2) == 1;
  const auto turns = static_cast<int>(random.below(4));
  const float brightness = random.uniform(-1, 1), contrast = random.uniform(-1, 1), saturation = random.uniform(-1, 1);
  const float cut_x = random.uniform(), cut_y = random.uniform();
  change.flip = options.flip && flip;
  change.turns = options.rotate ? turns : 0;
  const auto jitter = static_cast<float>(options.jitter);
  change.brightness = 1 + jitter * brightness;
  change.contrast = 1 + jitter * contrast;
  change.saturation = 1 + jitter * saturation;
  if (options.cutout > 0) {
    const int side =
        std::clamp(static_cast<int>(std::lround(options.cutout * options.resolution)), 1, options.resolution);
    const auto places = static_cast<float>(options.resolution - side + 1);
    change.cutout = {static_cast<int>(cut_x * places), static_cast<int>(cut_y * places), side, side};
  }
  const bool whole = options.crop.least >= 1;
  change.crop = whole ? middle_square(width, height, 1) : random_crop(options, width, height, random);
  return change;
}

}  // namespace ronde::data::picture
