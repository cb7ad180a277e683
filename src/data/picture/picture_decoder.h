#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "ronde/data/picture/decoder.h"

namespace ronde::data {

// How values become what a network sees: (value - mean) / deviation for each channel. Bytes of pictures count as 0
// to 1.
struct Normalization {
  std::vector<float> mean, deviation;
  friend bool operator==(const Normalization&, const Normalization&) = default;
};

// As data.normalize has it: imagenet, unit (0 to 1), or "m,m,m/s,s,s", one number for all channels or one for each.
// FAILS WITH: BadInput that names the setting.
Normalization parse_normalization(std::string_view text, std::int64_t channels);

// Which share of a picture a random crop takes.
struct CropScale {
  double least = 0.08, most = 1.0;
  friend bool operator==(const CropScale&, const CropScale&) = default;
};

// As data.crop_scale has it: "0.08/1". FAILS WITH: BadInput that names the setting.
CropScale parse_crop_scale(std::string_view text);

// What becomes of every picture.
struct PictureOptions {
  int resolution = 224;       // height and width of what comes out
  std::int64_t channels = 3;  // or 1: grey
  // For training: all that follows. Otherwise pictures are seen as is usual for evaluation: the middle seven eighths of
  // the short side.
  bool augment = true;
  CropScale crop = {};  // 1/1: the largest square in the middle
  double least_aspect = 3.0 / 4.0, most_aspect = 4.0 / 3.0;
  bool flip = true;     // every other picture is mirrored
  bool rotate = false;  // by 0, 90, 180 or 270 degrees
  double jitter = 0;    // brightness, contrast, saturation: by up to this share
  double cutout = 0;    // side of a square that is blanked, as a share of the picture's
  Normalization normal = {{0.485f, 0.456f, 0.406f}, {0.229f, 0.224f, 0.225f}};
  Layout layout = Layout::ChannelsFirst;
  bool bf16 = false;
  // Bytes, channels last whatever the layout: normalising is left to augment_pictures() (augment.h), and mirroring too
  // where nothing else depends on it.
  bool u8 = false;
  Target target = Target::Class;
  std::int64_t classes = 1000;
};

// Pictures: the array "image" is a JPEG or PNG (u8[n]), or pixels (u8[h,w], u8[h,w,c] with c of 1, 3 or 4); "class" or
// "labels" is what is to be learned. Decodes no more than the crop needs, resizes (an antialiased triangle, linear
// where it enlarges), mirrors, turns, recolours and normalises on the way into the batch, in one pass. JPEGs are
// decoded to a half, a quarter or an eighth where the crop is at least twice, four or eight times what is asked for.
// Bits do not depend on threads, nor on what the processor can do.
// FAILS WITH: BadInput, for options that cannot be met.
std::unique_ptr<Decoder> make_picture_decoder(PictureOptions options);

}  // namespace ronde::data
