#include "ronde/data/picture/render.h"

#include <algorithm>
#include <type_traits>

namespace ronde::data::picture {
namespace {

template <class T>
void add_up(const Kernels& kernels, const Sum& sum, T* into) {
  if constexpr (std::is_same_v<T, float>)
    kernels.across(sum, into);
  else if constexpr (std::is_same_v<T, Bf16>)
    kernels.across16(sum, into);
  else
    kernels.across8(sum, into);
}

template <class T>
T converted(float value) {
  if constexpr (std::is_same_v<T, float>)
    return value;
  else if constexpr (std::is_same_v<T, Bf16>)
    return to_bf16(value);
  else
    return static_cast<std::uint8_t>(value + 0.5f);  // 0 to 255, all of them
}

// How a row's numbers lie: pixels and channels so far apart.
struct Steps {
  std::size_t pixel, channel;
};

Steps steps_of(RowShape shape, std::size_t pixels) {
  if (shape.layout == Layout::ChannelsFirst) return {1, pixels};
  return {static_cast<std::size_t>(shape.channels), 1};
}

}  // namespace

Renderer::Renderer(const PictureOptions& options)
    : side_(options.resolution), shape_{static_cast<int>(options.channels), options.layout} {
  const auto side = static_cast<std::size_t>(side_), channels = static_cast<std::size_t>(options.channels);
  const Steps steps = steps_of(shape_, side);
  scale_.resize(side * channels);
  shift_.resize(side * channels);
  to_byte_.assign(side * channels, kSumToByte);
  none_.assign(side * channels, 0.0f);
  for (std::size_t c = 0; c < channels; ++c) {
    const double mean = options.normal.mean[c], deviation = options.normal.deviation[c];
    mean_[c] = static_cast<float>(255 * mean);
    factor_[c] = options.u8 ? 1.0f : static_cast<float>(1 / (255 * deviation));
    offset_[c] = options.u8 ? 0.0f : static_cast<float>(-mean / deviation);
    for (std::size_t x = 0; x < side; ++x) {
      scale_[x * steps.pixel + c * steps.channel] = kSumToByte * factor_[c];
      shift_[x * steps.pixel + c * steps.channel] = offset_[c];
    }
  }
}

// Brightness, contrast (away from the mean that pictures are normalised by) and saturation are one linear map of the
// colours of a pixel. What leaves 0 to 255 is cut off, once.
void Renderer::recolour(const Change& change, Scratch& scratch) const {
  constexpr std::array<float, 3> kSeen = {0.299f, 0.587f, 0.114f};
  const auto side = static_cast<std::size_t>(side_), channels = static_cast<std::size_t>(shape_.channels);
  const Steps steps = steps_of(shape_, side);
  const float own = change.brightness * change.contrast * (channels == 3 ? change.saturation : 1.0f);
  const float grey = channels == 3 ? change.brightness * change.contrast * (1 - change.saturation) : 0.0f;
  for (std::size_t x = 0; x < side; ++x) {
    const float* from = scratch.row.data() + x * steps.pixel;
    float seen = 0;
    for (std::size_t c = 0; c < channels; ++c) seen += kSeen[c] * from[c * steps.channel];
    for (std::size_t c = 0; c < channels; ++c) {
      const float value = own * from[c * steps.channel] + grey * seen + (1 - change.contrast) * mean_[c];
      scratch.coloured[x * steps.pixel + c * steps.channel] = std::clamp(value, 0.0f, 255.0f) * factor_[c] + offset_[c];
    }
  }
}

// Writes row `y` where turning puts it. Rows came along themselves in the direction that backwards() says.
template <class T>
void Renderer::place(const float* row, int y, const Change& change, T* out) const {
  const auto side = static_cast<std::size_t>(side_), channels = static_cast<std::size_t>(shape_.channels);
  const Steps steps = steps_of(shape_, side);
  const bool planes = shape_.layout == Layout::ChannelsFirst;
  const std::size_t pixel = planes ? 1 : channels, channel = planes ? side * side : 1;
  const bool lies = change.turns % 2 == 1, from_end = change.turns == 1 || change.turns == 2;
  const std::size_t at = from_end ? side - 1 - static_cast<std::size_t>(y) : static_cast<std::size_t>(y);
  T* into = out + at * (lies ? pixel : side * pixel);
  const std::size_t step = lies ? side * pixel : pixel;
  for (std::size_t c = 0; c < channels; ++c)
    for (std::size_t x = 0; x < side; ++x)
      into[x * step + c * channel] = converted<T>(row[x * steps.pixel + c * steps.channel]);
}

template <class T>
void Renderer::render(Resizer& resizer, const Change& change, Scratch& scratch, T* out, const Kernels& kernels) const {
  const auto side = static_cast<std::size_t>(side_);
  const std::size_t a_row = scale_.size();
  const bool planes = shape_.layout == Layout::ChannelsFirst, recolours = change.recolours();
  const bool direct = !recolours && change.turns % 2 == 0;
  if (!direct) scratch.row.resize(a_row);
  if (recolours) scratch.coloured.resize(a_row);
  for (int y = 0; y < side_; ++y) {
    Sum sum{.axis = &resizer.y, .output = y, .rows = resizer.rows_for(y), .count = a_row};
    sum.scale = recolours ? to_byte_.data() : scale_.data();
    sum.shift = recolours ? none_.data() : shift_.data();
    if (!direct) {
      sum.read_soon = true;
      kernels.across(sum, scratch.row.data());
      if (recolours) recolour(change, scratch);
      place(recolours ? scratch.coloured.data() : scratch.row.data(), y, change, out);
      continue;
    }
    const auto row = static_cast<std::size_t>(change.turns == 2 ? side_ - 1 - y : y);
    if (!planes) {
      add_up(kernels, sum, out + row * a_row);
      continue;
    }
    sum.count = side;
    for (int c = 0; c < shape_.channels; ++c) {
      add_up(kernels, sum, out + (static_cast<std::size_t>(c) * side + row) * side);
      sum.first += side;
      sum.scale += side;
      sum.shift += side;
    }
  }
  kernels.finish();
  cut(change.cutout, out);
}

// 0 is the mean, and bytes have one of their own.
template <class T>
void Renderer::cut(const Window& window, T* out) const {
  const auto side = static_cast<std::size_t>(side_);
  const bool planes = shape_.layout == Layout::ChannelsFirst;
  const auto step = static_cast<std::size_t>(planes ? 1 : shape_.channels);
  for (std::size_t c = 0; c < static_cast<std::size_t>(shape_.channels); ++c) {
    T mean{};
    if constexpr (std::is_same_v<T, std::uint8_t>) mean = converted<T>(std::clamp(mean_[c], 0.0f, 255.0f));
    for (int y = window.top; y < window.top + window.height; ++y) {
      const auto place = static_cast<std::size_t>(y) * side + static_cast<std::size_t>(window.left);
      T* at = out + (planes ? c * side * side + place : place * step + c);
      for (int x = 0; x < window.width; ++x, at += step) *at = mean;
    }
  }
}

template void Renderer::render(Resizer&, const Change&, Scratch&, float*, const Kernels&) const;
template void Renderer::render(Resizer&, const Change&, Scratch&, Bf16*, const Kernels&) const;
template void Renderer::render(Resizer&, const Change&, Scratch&, std::uint8_t*, const Kernels&) const;

}  // namespace ronde::data::picture
