#include "ronde/data/picture/fuzz.h"

#include "ronde/base/error.h"
#include "ronde/data/picture/header.h"
#include "ronde/data/picture/picture_decoder.h"
#include "ronde/data/picture/tiff.h"

namespace ronde::data::picture {
namespace {

constexpr std::size_t kMostScratch = 256 << 20;  // as a budget would refuse what needs more

void try_decoder(const Decoder& decoder, const Sample& sample) {
  std::vector<float> features(decoder.kind().values());
  for (std::int64_t index = 0; index < 3; ++index) {
    try {
      if (decoder.scratch_bytes(sample, {.index = index}) <= kMostScratch)
        decoder.decode(sample, {.index = index}, {.features = features});
    } catch (const Error&) {  // NOLINT: what is expected of most bytes
    }
  }
}

}  // namespace

void try_picture(std::string_view bytes) {
  Sample sample;
  sample.set("image", Array::bytes_of(bytes));
  for (const std::int64_t channels : {1, 3})
    try_decoder(*make_picture_decoder({.resolution = 9,
                                       .channels = channels,
                                       .rotate = true,
                                       .jitter = 0.5,
                                       .normal = parse_normalization("imagenet", channels),
                                       .target = Target::Input}),
                sample);
}

void try_tiff(std::string_view bytes) {
  try {
    std::vector<float> values;
    std::vector<std::uint8_t> strip;
    if (read_tiff_header(bytes).values() <= kMostScratch / 8) (void)read_tiff(bytes, values, strip);
  } catch (const Error&) {  // NOLINT: what is expected of most bytes
  }
}

}  // namespace ronde::data::picture
