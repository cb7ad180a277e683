#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "ronde/data/picture/choose.h"
#include "ronde/data/picture/crop_plan.h"
#include "ronde/data/picture/jpeg/jpeg.h"
#include "ronde/data/picture/reencode.h"

// The plain path that the fast one is held against: all of the picture is decoded, cut, resized, mirrored, turned,
// recoloured and normalised, one after the other, in doubles.
namespace ronde::data::picture {

struct Plane {
  int width = 0, height = 0, channels = 0;
  std::vector<double> values = {};
  double& at(int x, int y, int c) { return values[static_cast<std::size_t>((y * width + x) * channels + c)]; }
};

inline Plane resized_across(Plane& in, double from, double length, int out) {
  Plane result{out, in.height, in.channels,
               std::vector<double>(static_cast<std::size_t>(out * in.height * in.channels))};
  const double step = length / out, reach = std::max(step, 1.0);
  for (int i = 0; i < out; ++i) {
    const double centre = from + (i + 0.5) * step;
    std::vector<std::pair<int, double>> weights;
    double sum = 0;
    for (int x = 0; x < in.width; ++x) {
      const double weight = 1 - std::abs(x + 0.5 - centre) / reach;
      if (weight > 0) weights.emplace_back(x, weight), sum += weight;
    }
    for (int y = 0; y < in.height; ++y)
      for (int c = 0; c < in.channels; ++c)
        for (const auto& [x, weight] : weights) result.at(i, y, c) += in.at(x, y, c) * weight / sum;
  }
  return result;
}

inline Plane transposed(Plane& in) {
  Plane result{in.height, in.width, in.channels, std::vector<double>(in.values.size())};
  for (int y = 0; y < in.height; ++y)
    for (int x = 0; x < in.width; ++x)
      for (int c = 0; c < in.channels; ++c) result.at(y, x, c) = in.at(x, y, c);
  return result;
}

inline Plane mirrored(Plane& in) {
  Plane result = in;
  for (int y = 0; y < in.height; ++y)
    for (int x = 0; x < in.width; ++x)
      for (int c = 0; c < in.channels; ++c) result.at(in.width - 1 - x, y, c) = in.at(x, y, c);
  return result;
}

// The same part of the same picture, all of it decoded at that scale.
inline Plane cut_out(const Pixels& picture, const Window& window) {
  Plane plane{window.width, window.height, picture.channels, {}};
  for (int y = window.top; y < window.top + window.height; ++y)
    for (int x = window.left; x < window.left + window.width; ++x)
      for (int c = 0; c < picture.channels; ++c) plane.values.push_back(picture.at(y)[x * picture.channels + c]);
  return plane;
}

inline Pixels decode_shrunk(std::string_view bytes, int shrink, int channels) {
  const Header header = read_header(bytes);
  if (shrink == 1) return decode_pixels(bytes, channels);
  Pixels pixels{.width = (header.width + shrink - 1) / shrink,
                .height = (header.height + shrink - 1) / shrink,
                .channels = channels};
  JpegReader reader;
  reader.start(bytes, header, {.window = {0, 0, pixels.width, pixels.height}, .shrink = shrink, .channels = channels});
  std::vector<std::uint8_t> row(static_cast<std::size_t>(pixels.width) * 4 + 64);
  for (int y = 0; y < pixels.height; ++y) {
    reader.read(row.data(), row.size(), 1);
    for (int x = 0; x < pixels.width; ++x)
      for (int c = 0; c < channels; ++c)
        pixels.values.push_back(row[static_cast<std::size_t>(x * (channels == 1 ? 1 : 4) + c)]);
  }
  return pixels;
}

inline void recolour(Plane& plane, const Change& change, const PictureOptions& options) {
  for (int y = 0; y < plane.height; ++y)
    for (int x = 0; x < plane.width; ++x) {
      const double grey = plane.channels == 1
                              ? plane.at(x, y, 0)
                              : 0.299 * plane.at(x, y, 0) + 0.587 * plane.at(x, y, 1) + 0.114 * plane.at(x, y, 2);
      for (int c = 0; c < plane.channels; ++c) {
        double value = plane.at(x, y, c);
        if (plane.channels == 3) value = change.saturation * value + (1 - change.saturation) * grey;
        const double mean = 255.0 * options.normal.mean[static_cast<std::size_t>(c)];
        value = change.contrast * change.brightness * value + (1 - change.contrast) * mean;
        plane.at(x, y, c) = std::clamp(value, 0.0, 255.0);
      }
    }
}

// Channels first.
inline std::vector<float> reference(std::string_view bytes, const PictureOptions& options, const Draw& draw) {
  const Header header = read_header(bytes);
  const Change change =
      choose(options, header.width, header.height,
             Random(draw.seed, static_cast<std::uint64_t>(draw.epoch), static_cast<std::uint64_t>(draw.index)));
  const CropPlan plan = plan_for(change.crop, header, options.resolution);
  const int side = options.resolution, channels = static_cast<int>(options.channels);
  Plane plane = cut_out(decode_shrunk(bytes, plan.shrink, channels), plan.window);
  plane = resized_across(plane, plan.left, plan.width, side);
  plane = transposed(plane);
  plane = resized_across(plane, plan.top, plan.height, side);
  plane = transposed(plane);
  if (change.flip) plane = mirrored(plane);
  for (int turn = 0; turn < change.turns; ++turn) {
    plane = transposed(plane);
    plane = mirrored(plane);
  }
  if (change.recolours()) recolour(plane, change, options);
  std::vector<float> result;
  for (int c = 0; c < channels; ++c)
    for (int y = 0; y < side; ++y)
      for (int x = 0; x < side; ++x) {
        const Window& cut = change.cutout;
        const bool blank = x >= cut.left && x < cut.left + cut.width && y >= cut.top && y < cut.top + cut.height;
        const double mean = options.normal.mean[static_cast<std::size_t>(c)],
                     deviation = options.normal.deviation[static_cast<std::size_t>(c)];
        result.push_back(blank ? 0.0f : static_cast<float>((plane.at(x, y, c) / 255 - mean) / deviation));
      }
  return result;
}

}  // namespace ronde::data::picture
