#include "ronde/data/samples/glyphs.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "ronde/data/order/random.h"
#include "ronde/data/samples/generated.h"

namespace ronde::data::detail {
namespace {

// Of the values before normalisation, measured over all letters; they hardly depend on the resolution.
constexpr float kMean = 0.25f, kDeviation = 0.25f;
constexpr float kNoise = 0.15f;          // noise is even between -kNoise and kNoise
constexpr std::uint64_t kMostSigns = 4;  // of pictures with several: each has a quarter, so that they hardly touch
constexpr float kInside = 0.5f;          // a pixel belongs to a sign that covers so much of it

Placement random_placement(Random& random, float resolution) {
  const float scale = resolution / 6 * random.uniform(0.5f, 0.8f);  // shapes are 6 high
  const float wide = scale * random.uniform(0.8f, 1.2f), slant = random.uniform(-0.25f, 0.25f);
  const float angle = random.uniform(-0.35f, 0.35f);
  const float c = std::cos(angle), s = std::sin(angle);
  const float middle = resolution / 2, shift = resolution * 0.14f;
  return {.xx = c * wide,
          .xy = c * slant * scale - s * scale,
          .yx = s * wide,
          .yy = s * slant * scale + c * scale,
          .x = middle + random.uniform(-shift, shift),
          .y = middle + random.uniform(-shift, shift),
          .radius = std::max(0.5f, resolution * random.uniform(0.02f, 0.06f))};
}

// Short, anywhere: so that no single pixel tells a class.
Line stray_stroke(Random& random, float resolution) {
  const Point from = {random.uniform(0, resolution), random.uniform(0, resolution)};
  const float reach = resolution * 0.2f;
  return {from, {from.x + random.uniform(-reach, reach), from.y + random.uniform(-reach, reach)}};
}

void draw_line(const Line& line, float radius, std::int64_t resolution, float* ink) {
  // Covered up to the inner distance, free beyond the outer one; squares spare a root a pixel.
  const float inner = std::max(0.0f, radius - 0.5f), outer = radius + 0.5f;
  const float sharpness = 1 / (outer * outer - inner * inner);
  const auto first = [&](float a, float b) {
    return std::clamp(static_cast<std::int64_t>(std::floor(std::min(a, b) - outer)), std::int64_t{0}, resolution);
  };
  const auto last = [&](float a, float b) {
    return std::clamp(static_cast<std::int64_t>(std::ceil(std::max(a, b) + outer)) + 1, std::int64_t{0}, resolution);
  };
  const std::int64_t x0 = first(line.from.x, line.to.x), x1 = last(line.from.x, line.to.x);
  const std::int64_t y0 = first(line.from.y, line.to.y), y1 = last(line.from.y, line.to.y);
  const float dx = line.to.x - line.from.x, dy = line.to.y - line.from.y;
  const float per_length = 1 / std::max(dx * dx + dy * dy, 1e-6f);
  for (std::int64_t y = y0; y < y1; ++y) {
    float* row = ink + y * resolution;
    const float py = static_cast<float>(y) + 0.5f - line.from.y;
    for (std::int64_t x = x0; x < x1; ++x) {
      const float px = static_cast<float>(static_cast<std::int32_t>(x)) + 0.5f - line.from.x;
      const float along = std::min(std::max((px * dx + py * dy) * per_length, 0.0f), 1.0f);
      const float rx = px - along * dx, ry = py - along * dy;
      const float covered = std::min((outer * outer - rx * rx - ry * ry) * sharpness, 1.0f);
      row[x] = std::max(row[x], covered);
    }
  }
}

// One random word has noise for four pixels.
void add_noise(const Random& random, std::uint64_t first, std::span<float> values, float amplitude) {
  constexpr float kUnit = 0x1p-15f;
  for (std::size_t i = 0; i < values.size(); i += 4) {
    const std::uint64_t word = random.at(first + i / 4);
    const std::size_t most = std::min<std::size_t>(4, values.size() - i);
    for (std::size_t k = 0; k < most; ++k)
      values[i + k] += (static_cast<float>(static_cast<std::uint16_t>(word >> 16 * k)) * kUnit - 1) * amplitude;
  }
}

class Glyphs : public Source {
 public:
  explicit Glyphs(const SourceOptions& options)
      : kind_(generated_kind(options)),
        signs_(options.classes),
        size_(generated_size(options)),
        seed_(generated_seed(options)) {}

  std::string name() const override { return "glyphs"; }
  SampleKind kind() const override { return kind_; }
  std::int64_t size() const override { return size_; }

  void read(std::int64_t index, std::int64_t, const SampleSpace& into) const override {
    Random random(seed_, static_cast<std::uint64_t>(index));
    const auto values = into.features;
    const auto plane = static_cast<std::size_t>(kind_.height * kind_.width);
    // Drawn into the last channel, which is coloured last.
    const auto ink = values.subspan(values.size() - plane, plane);
    std::ranges::fill(ink, 0.0f);
    const bool several = kind_.target == Target::Labels || kind_.target == Target::Mask;
    const float radius = several ? draw_several(random, ink, into) : draw_one(random, ink, index % signs_, into);
    draw_line(stray_stroke(random, static_cast<float>(kind_.width)), radius, kind_.width, ink.data());
    for (std::size_t begin = 0; begin < values.size(); begin += plane)
      colour(random, ink, values.subspan(begin, plane));
    add_noise(Random(seed_, static_cast<std::uint64_t>(index), 1), 0, values, kNoise / kDeviation);
  }

 private:
  // Both return half of the pen's width.
  float draw_one(Random& random, std::span<float> ink, std::int64_t sign, const SampleSpace& into) const {
    const Placement placement = random_placement(random, static_cast<float>(kind_.width));
    draw(shape_of_class(sign).lines(), placement, kind_.width, ink);
    std::ranges::fill(into.classes, sign);
    return placement.radius;
  }

  float draw_several(Random& random, std::span<float> ink, const SampleSpace& into) const {
    std::ranges::fill(into.flags, 0.0f);
    std::ranges::fill(into.classes, std::int64_t{0});
    const float half = static_cast<float>(kind_.width) / 2;
    const std::uint64_t count = 1 + random.below(kMostSigns), first = random.below(kMostSigns);
    Placement placement;
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t quarter = (first + i) % kMostSigns;
      const auto sign = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(signs_)));
      placement = random_placement(random, half);
      placement.x += half * static_cast<float>(quarter % 2);
      placement.y += half * static_cast<float>(quarter / 2);
      draw(shape_of_class(sign).lines(), placement, kind_.width, ink);
      if (!into.flags.empty()) into.flags[static_cast<std::size_t>(sign)] = 1;
      claim(ink, sign + 1, into.classes);
    }
    return placement.radius;
  }

  // What is covered and has no owner yet was covered by the sign that was drawn last.
  static void claim(std::span<const float> ink, std::int64_t owner, std::span<std::int64_t> mask) {
    for (std::size_t i = 0; i < mask.size(); ++i)
      if (mask[i] == 0 && ink[i] >= kInside) mask[i] = owner;
  }

  static void colour(Random& random, std::span<const float> ink, std::span<float> channel) {
    const float ground = random.uniform(0.0f, 0.3f), pen = random.uniform(0.6f, 1.0f);
    const float scale = (pen - ground) / kDeviation, shift = (ground - kMean) / kDeviation;
    for (std::size_t i = 0; i < channel.size(); ++i) channel[i] = ink[i] * scale + shift;
  }

  const SampleKind kind_;
  const std::int64_t signs_, size_;
  const std::uint64_t seed_;
};

}  // namespace

void draw(std::span<const Line> lines, const Placement& placement, std::int64_t resolution, std::span<float> ink) {
  const auto placed = [&](Point p) -> Point {
    return {placement.xx * p.x + placement.xy * p.y + placement.x,
            placement.yx * p.x + placement.yy * p.y + placement.y};
  };
  for (const Line& line : lines)
    draw_line({placed(line.from), placed(line.to)}, placement.radius, resolution, ink.data());
}

std::unique_ptr<Source> open_glyphs(const SourceOptions& options) {
  return std::make_unique<Glyphs>(options);
}

}  // namespace ronde::data::detail
