// Settings of pictures, from text.
#include <cmath>
#include <optional>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"
#include "ronde/data/picture/picture_decoder.h"

namespace ronde::data {
namespace {

std::vector<float> numbers(std::string_view text, std::int64_t channels, std::string_view whole) {
  std::vector<float> found;
  for (const std::string_view piece : split(text, ',')) {
    const auto number = parse_number<float>(trim(piece));
    if (!number || !std::isfinite(*number))
      throw Error::bad_input("data.normalize = {}: '{}' is not a number", whole, trim(piece));
    found.push_back(*number);
  }
  if (found.size() == 1) found.resize(static_cast<std::size_t>(channels), found.front());
  if (found.size() != static_cast<std::size_t>(channels))
    throw Error::bad_input("data.normalize = {}: {} for {}", whole, counted(found.size(), "number"),
                           counted(static_cast<std::size_t>(channels), "channel"));
  return found;
}

}  // namespace

Normalization parse_normalization(std::string_view text, std::int64_t channels) {
  const auto all = static_cast<std::size_t>(channels);
  if (text == "unit") return {std::vector<float>(all, 0.0f), std::vector<float>(all, 1.0f)};
  if (text == "imagenet") {
    if (channels == 3) return {{0.485f, 0.456f, 0.406f}, {0.229f, 0.224f, 0.225f}};
    if (channels == 1) return {{0.449f}, {0.226f}};  // of the grey
    throw Error::bad_input("data.normalize = imagenet needs 3 channels or 1, got {}; use unit, or give numbers",
                           channels);
  }
  const auto halves = split(text, '/');
  if (halves.size() != 2)
    throw Error::bad_input(
        "data.normalize = {}: use imagenet, unit, or means and deviations such as 0.5,0.5,0.5/0.2,0.2,0.2", text);
  Normalization normal{numbers(halves[0], channels, text), numbers(halves[1], channels, text)};
  for (const float deviation : normal.deviation)
    if (!(deviation > 0))
      throw Error::bad_input("data.normalize = {}: deviations must be above 0, got {}", text, deviation);
  return normal;
}

CropScale parse_crop_scale(std::string_view text) {
  const auto halves = split(text, '/');
  std::optional<double> least, most;
  if (halves.size() == 2) {
    least = parse_number<double>(trim(halves[0]));
    most = parse_number<double>(trim(halves[1]));
  }
  if (!least || !most)
    throw Error::bad_input("data.crop_scale = {}: give the smallest and largest share, for example 0.08/1", text);
  if (!(*least > 0) || !(*least <= *most) || !(*most <= 1))
    throw Error::bad_input("data.crop_scale = {}: shares must be above 0 and at most 1, the smallest first", text);
  return {*least, *most};
}

}  // namespace ronde::data
