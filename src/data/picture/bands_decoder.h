#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ronde/data/picture/picture_decoder.h"

namespace ronde::data {

// What becomes of samples of several bands: each a TIFF of its own, whatever its size.
struct BandsOptions {
  std::vector<std::string> bands = {};  // names of arrays, in the order of channels; empty: BigEarthNet's twelve
  int resolution = 120;                 // height and width of what comes out
  bool augment = true;                  // for training: all that follows
  bool flip = true;                     // every other one is mirrored
  bool rotate = true;                   // by 0, 90, 180 or 270 degrees
  double cutout = 0;                    // side of a square that is blanked, as a share of the picture's
  Normalization normal = {};            // of numbers as they are stored; empty: what BigEarthNet's bands have
  Layout layout = Layout::ChannelsFirst;
  bool bf16 = false;
  Target target = Target::Labels;
  std::int64_t classes = 43;
};

// Mean and deviation of each of BigEarthNet's twelve bands, as its makers measured them.
Normalization bigearthnet_normalization();

// Samples of bands: reads each, resizes it to the resolution of all (linear between pixels, antialiased where it
// shrinks), mirrors, turns and normalises. A band is a TIFF of one channel.
// FAILS WITH: BadInput, for options that cannot be met.
std::unique_ptr<Decoder> make_bands_decoder(BandsOptions options);

}  // namespace ronde::data
