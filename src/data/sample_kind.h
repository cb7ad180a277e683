#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "ronde/data/array.h"

namespace ronde::data {

// What is to be learned of a sample.
enum class Target : std::uint8_t {
  Class,   // the one class that it is of
  Labels,  // which of the classes it has: any number of them
  Mask,    // the class of each pixel
  Input,   // itself: there is nothing besides the features
  Values,  // numbers: regression
};
std::string_view name(Target target);  // "class", as data.target has it
// FAILS WITH: BadInput.
Target parse_target(std::string_view text);

// How the values of a picture lie: all of a channel together, or all channels of a pixel.
enum class Layout : std::uint8_t { ChannelsFirst, ChannelsLast };

// How bytes of pixels become what a network sees, for each channel: byte * scale + shift.
struct PixelScale {
  static constexpr std::size_t kChannels = 4;  // no more
  std::array<float, kChannels> scale = {}, shift = {};
  friend bool operator==(const PixelScale&, const PixelScale&) = default;
};

// What is still to be done to a picture that came as bytes: see augment.h.
struct Augmentation {
  std::int32_t x = 0, y = 0;  // of the picture that came, where what is wanted begins; may lie outside
  std::int32_t mirrored = 0;  // 1: left to right, after that
  float share = 1;            // of itself; the rest is its neighbour's, of the pair (0, 1), (2, 3) ...
  friend bool operator==(const Augmentation&, const Augmentation&) = default;
};

// What every sample of a source is: features of one shape, and a target of one shape.
struct SampleKind {
  std::int64_t channels = 1, height = 1, width = 1;
  std::int64_t classes = 2;  // of a sample, or of each pixel, the background included
  Target target = Target::Class;
  Layout layout = Layout::ChannelsFirst;
  bool bf16 = false;  // features are bf16 rather than f32
  // Features are bytes of pixels, channels last. What is still to be done to them: `pixels` for all, and the
  // augmentation that lies beside each sample.
  bool u8 = false;
  PixelScale pixels = {};
  // Samples of a dataset of the user's have shapes of any dimensions; then classes, channels, height and width say what
  // they can of them.
  Shape features_shape = {};  // as a network takes it; empty: channels, height, width
  Shape values_shape = {};    // Values: of the numbers that are wanted

  // Of one sample, as a network takes it.
  Shape shape() const { return features_shape.empty() ? Shape{channels, height, width} : features_shape; }

  std::size_t values() const { return static_cast<std::size_t>(channels * height * width); }
  // How many classes a sample comes with: its own, or one a pixel, row by row.
  std::size_t class_values() const {
    if (target == Target::Mask) return static_cast<std::size_t>(height * width);
    return target == Target::Class ? 1 : 0;
  }
  // How many flags, 1 for a label that it has and 0 for one that it has not; or how many numbers are wanted.
  std::size_t flag_values() const {
    if (target == Target::Values) return static_cast<std::size_t>(values_in(values_shape));
    return target == Target::Labels ? static_cast<std::size_t>(classes) : 0;
  }
  std::size_t augmentation_values() const { return u8 ? 1 : 0; }
  std::size_t bytes() const {
    return values() * (u8     ? 1
                       : bf16 ? 2
                              : 4) +
           augmentation_values() * sizeof(Augmentation) + class_values() * sizeof(std::int64_t) +
           flag_values() * sizeof(float);
  }
  friend bool operator==(const SampleKind&, const SampleKind&) = default;
};

// Where a sample is written: memory of the caller, as much as its kind says. What a kind has not is empty.
struct SampleSpace {
  std::span<float> features = {};
  std::span<Bf16> features16 = {};            // instead, for kinds that are bf16
  std::span<std::uint8_t> features8 = {};     // or for those that are u8,
  std::span<Augmentation> augmentation = {};  // and this with it
  std::span<std::int64_t> classes = {};
  std::span<float> flags = {};
};

}  // namespace ronde::data
