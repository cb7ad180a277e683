#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ronde/data/io/file_bytes.h"
#include "ronde/data/source.h"

namespace ronde::data::detail {

// Pictures that lie one after the other in a file, `stride` bytes from one to the next.
struct Run {
  const std::uint8_t* first = nullptr;
  std::int64_t count = 0;
  std::size_t stride = 0;
};

// How a byte of a channel becomes a value: (byte / 255 - mean) / deviation.
struct Normal {
  float mean = 0, deviation = 1;
};

// A set of pictures of bytes, channel by channel, with their labels.
struct PictureSet {
  std::string name = {};
  SampleKind kind = {};
  std::vector<FileBytes> files = {};  // keeps what the runs point into
  std::vector<Run> runs = {};         // in the order of the samples
  std::vector<std::uint8_t> labels = {};
  std::vector<Normal> normals = {};  // one a channel
};

// The source that such a set is, cut to options.samples, with options.normalize and, where it augments,
// options.picture.flip.
// REQUIRES: labels below kind.classes; as many labels as pictures; options.target is Class or Input.
// FAILS WITH: BadInput when there are fewer than options.samples, or options.normalize cannot be read.
std::unique_ptr<Source> make_picture_source(PictureSet set, const SourceOptions& options);

// How one picture is changed for training: pixel (x, y) of the result comes from (x - right, y - down) of the picture,
// or of its mirror image; what comes from outside is zero after normalisation. Pure.
struct Change {
  int right = 0, down = 0;
  bool mirror = false;
};
Change change_of(std::uint64_t seed, std::int64_t epoch, std::int64_t sample);

// FAILS WITH: BadInput that names file, sample and offset when a label is not below `classes`.
void check_label(std::uint8_t label, std::int64_t classes, const std::string& file, std::int64_t sample,
                 std::size_t offset);

}  // namespace ronde::data::detail
