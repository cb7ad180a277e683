#include "ronde/data/picture/generate.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "ronde/data/order/random.h"

namespace ronde::data::picture {
namespace {

// Values at the corners of a grid, linear between them, as smooth as the grid is wide.
class Field {
 public:
  Field(Random random, int width, int height, float step)
      : step_(step),
        across_(static_cast<int>(static_cast<float>(width) / step) + 2),
        values_(static_cast<std::size_t>(across_) *
                static_cast<std::size_t>(static_cast<int>(static_cast<float>(height) / step) + 2)) {
    for (float& value : values_) value = random.uniform(-1, 1);
  }
  float at(int x, int y) const {
    const float column = static_cast<float>(x) / step_, row = static_cast<float>(y) / step_;
    const int left = static_cast<int>(column), top = static_cast<int>(row);
    const float right = column - static_cast<float>(left), down = row - static_cast<float>(top);
    const float* corner = values_.data() + top * across_ + left;
    const float above = corner[0] + right * (corner[1] - corner[0]);
    const float below = corner[across_] + right * (corner[across_ + 1] - corner[across_]);
    return above + down * (below - above);
  }

 private:
  float step_;
  int across_;
  std::vector<float> values_;
};

}  // namespace

Pixels generate_photograph(std::uint64_t seed, std::int64_t index, int width, int height) {
  Random random(seed, static_cast<std::uint64_t>(index));
  const auto field = [&](float step) { return Field(Random(random.next()), width, height, step); };
  const Field areas = field(90), light = field(200), coarse = field(13), fine = field(3.3f), rough = field(60);
  const std::array tints = {field(110), field(110), field(110)};
  Pixels pixels{.width = width, .height = height, .channels = 3};
  pixels.values.resize(pixels.row() * static_cast<std::size_t>(height));
  Random noise(random.next());
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      const float area = areas.at(x, y) > 0 ? 45.0f : -25.0f;       // with an edge between
      const float texture = std::max(0.0f, rough.at(x, y) + 0.5f);  // some areas are smooth
      const float grey = 115 + area + 45 * light.at(x, y) + texture * (22 * coarse.at(x, y) + 30 * fine.at(x, y));
      const float grain = noise.uniform(-11, 11);
      for (std::size_t c = 0; c < 3; ++c) {
        const float value = grey + 35 * tints[c].at(x, y) + grain + noise.uniform(-4, 4);
        pixels.at(y)[3 * x + static_cast<int>(c)] = static_cast<std::uint8_t>(std::clamp(value, 0.0f, 255.0f));
      }
    }
  return pixels;
}

}  // namespace ronde::data::picture
