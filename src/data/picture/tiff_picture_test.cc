// TIFFs as pictures: of 8 bits, grey or RGB.
#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

#include "ronde/data/formats/images/picture_check.h"
#include "ronde/data/picture/header.h"
#include "ronde/data/picture/picture_decoder.h"
#include "ronde/data/picture/reencode.h"
#include "ronde/data/picture/tiff.h"
#include "ronde/data/testing/records.h"
#include "ronde/data/testing/tiff_file.h"

namespace ronde::data::picture {
namespace {

constexpr int kWidth = 37, kHeight = 21;

std::vector<std::uint8_t> some_pixels(int channels) {
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(kWidth * kHeight * channels));
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(i * 7 + i / 100);
  return pixels;
}

std::string tiff_of(const std::vector<std::uint8_t>& pixels, const TiffStyle& style) {
  const Folder folder;
  write_tiff(folder.path() / "a.tif", kWidth, kHeight, pixels, style);
  return read_text(folder.path() / "a.tif");
}

std::vector<float> decoded(const Array& image, std::int64_t channels) {
  Sample sample;
  sample.set("image", image);
  const auto decoder = make_picture_decoder({.resolution = 16,
                                             .channels = channels,
                                             .normal = parse_normalization("imagenet", channels),
                                             .target = Target::Input});
  std::vector<float> features(decoder->kind().values());
  for (std::int64_t i = 0; i < 3; ++i) decoder->decode(sample, {.index = i}, {.features = features});
  EXPECT_GT(decoder->scratch_bytes(sample, {}), std::size_t{kWidth * kHeight});
  return features;
}

// The same as pixels that lie in memory, however they are stored.
TEST(TiffPicture, IsDecodedAsItsPixels) {
  for (const std::uint16_t channels : {1, 3, 4}) {
    const auto pixels = some_pixels(channels);
    Array plain(Type::U8, {kHeight, kWidth, channels});
    std::ranges::copy(pixels, plain.values<std::uint8_t>().begin());
    const auto colours = static_cast<std::uint16_t>(channels == 1 ? PHOTOMETRIC_MINISBLACK : PHOTOMETRIC_RGB);
    for (const std::uint16_t compression : {COMPRESSION_NONE, COMPRESSION_LZW, COMPRESSION_PACKBITS})
      for (const std::uint32_t tile : {0u, 16u}) {
        const TiffStyle style{.compression = compression, .channels = channels, .tile = tile, .colours = colours};
        const Array image = Array::bytes_of(tiff_of(pixels, style));
        for (const std::int64_t wanted : {1, 3}) EXPECT_EQ(decoded(image, wanted), decoded(plain, wanted));
      }
  }
}

TEST(TiffPicture, ChannelsMayLieApartAndWhiteMayBeZero) {
  const auto pixels = some_pixels(3);
  std::vector<std::uint8_t> apart;
  for (std::size_t c = 0; c < 3; ++c)
    for (std::size_t i = c; i < pixels.size(); i += 3) apart.push_back(pixels[i]);
  const std::string bytes =
      tiff_of(apart, {.planes = PLANARCONFIG_SEPARATE, .channels = 3, .colours = PHOTOMETRIC_RGB});
  EXPECT_EQ(decode_pixels(bytes, 3).values, pixels);
  auto grey = some_pixels(1);
  const std::string white = tiff_of(grey, {.colours = PHOTOMETRIC_MINISWHITE});
  for (std::uint8_t& pixel : grey) pixel = static_cast<std::uint8_t>(255 - pixel);
  EXPECT_EQ(decode_pixels(white, 1).values, grey);
  EXPECT_TRUE(reencode_jpeg(white, 16, 90).starts_with("\xff\xd8"));
}

TEST(TiffPicture, OthersAreSomebodysData) {
  const Folder folder;
  write_tiff(folder.path() / "a.tif", 4, 4, std::vector<std::uint16_t>(16, 300));
  const Array image = Array::bytes_of(read_text(folder.path() / "a.tif"));
  EXPECT_EQ(message_of([&] { (void)read_header(image.text()); }),
            "a TIFF of 1 u16 values per pixel: pictures must be grey or RGB, of 8 bits");
  EXPECT_FALSE(files::is_decodable(image));
  files::check_picture(image);
  EXPECT_NE(message_of([] {
              files::check_picture(Array::bytes_of(std::string_view("II*\0 nothing", 12)));
            }).find("a damaged TIFF"),
            std::string::npos);
}

TEST(TiffPicture, DamagedOnesAreErrors) {
  const std::string whole = tiff_of(some_pixels(3), {.compression = COMPRESSION_LZW, .channels = 3, .colours = 2});
  const Array image = Array::bytes_of(whole);
  for (std::size_t size = 4; size < whole.size(); size += 13)
    EXPECT_NE(message_of([&] { (void)decode_pixels(whole.substr(0, size), 3); }), "nothing was thrown") << size;
  for (std::size_t at = 0; at < whole.size(); ++at) {  // an error or other pixels, and no crash
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0x55);
    message_of([&] { (void)decode_pixels(changed, 3); });
  }
}

}  // namespace
}  // namespace ronde::data::picture
