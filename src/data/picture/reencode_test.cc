#include "ronde/data/picture/reencode.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "ronde/data/picture/generate.h"
#include "ronde/data/picture/header.h"
#include "ronde/data/picture/testing/pictures.h"
#include "ronde/data/testing/folder.h"

namespace ronde::data::picture {
namespace {

double mean_difference(const Pixels& a, const Pixels& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.values.size(); ++i) sum += std::abs(a.values[i] - b.values[i]);
  return sum / static_cast<double>(a.values.size());
}

TEST(EncodeJpeg, ComesBackAlmostAsItWas) {
  for (const int channels : {1, 3}) {
    const Pixels picture = gradient(61, 47, channels);
    for (const bool progressive : {false, true}) {
      const std::string bytes = encode_jpeg(picture, {.quality = 95, .progressive = progressive});
      const Header header = read_header(bytes);
      EXPECT_EQ(header.width, 61);
      EXPECT_EQ(header.height, 47);
      EXPECT_EQ(header.channels, channels);
      EXPECT_EQ(header.whole, progressive);
      EXPECT_EQ(header.most_down, channels == 1 ? 1 : 2);
      const Pixels again = decode_pixels(bytes, channels);
      ASSERT_EQ(again.values.size(), picture.values.size());
      EXPECT_LT(mean_difference(again, picture), 4.0);
    }
  }
}

TEST(EncodeJpeg, RefusesWhatNoJpegCanHold) {
  EXPECT_EQ(message_of([] { (void)encode_jpeg({.width = 70000, .height = 1}); }),
            "a picture of 70000 x 1 pixels cannot be written as a JPEG");
  EXPECT_EQ(message_of([] { (void)encode_jpeg({.width = 0, .height = 1}); }),
            "a picture of 0 x 1 pixels cannot be written as a JPEG");
}

TEST(Shrink, AveragesAndNeverEnlarges) {
  const Pixels flat{.width = 30, .height = 20, .channels = 3, .values = std::vector<std::uint8_t>(1800, 77)};
  const Pixels small = shrink(flat, 10);
  EXPECT_EQ(small.width, 15);
  EXPECT_EQ(small.height, 10);
  EXPECT_TRUE(std::ranges::all_of(small.values, [](int value) { return value == 77; }));
  EXPECT_EQ(shrink(flat, 20).values, flat.values);
  EXPECT_EQ(shrink(flat, 400).width, 30);
  // Stripes of a pixel each become grey: nothing is left out.
  Pixels stripes{.width = 64, .height = 64, .channels = 1, .values = std::vector<std::uint8_t>(64 * 64)};
  for (std::size_t i = 0; i < stripes.values.size(); ++i) stripes.values[i] = i % 2 ? 255 : 0;
  for (const int value : shrink(stripes, 8).values) EXPECT_NEAR(value, 127.5, 6.0);
}

TEST(Reencode, IsABaselineJpegOfThatShortSide) {
  const Pixels picture = gradient(150, 100, 3);
  const std::string progressive = encode_jpeg(picture, {.progressive = true});
  for (const std::string& bytes : {progressive, encode_png(picture)}) {
    const std::string stored = reencode_jpeg(bytes, 40, 90);
    const Header header = read_header(stored);
    EXPECT_EQ(header.width, 60);
    EXPECT_EQ(header.height, 40);
    EXPECT_FALSE(header.whole);
    EXPECT_EQ(header.most_across, 2);
    EXPECT_LT(mean_difference(decode_pixels(stored), shrink(picture, 40)), 3.0);
  }
  EXPECT_EQ(read_header(reencode_jpeg(encode_jpeg(gradient(50, 60, 1)), 25, 90)).channels, 1);
  EXPECT_NE(message_of([] { (void)reencode_jpeg("GIF89a", 40, 90); }).find("not a JPEG, PNG or TIFF"),
            std::string::npos);
  EXPECT_NE(message_of([&] { (void)reencode_jpeg(progressive, 0, 90); }).find("short side"), std::string::npos);
}

TEST(Generate, MakesPicturesOfAPhotographsSize) {
  const std::string bytes = encode_jpeg(generate_photograph(1, 0), {.quality = 90, .optimise = false});
  EXPECT_GT(bytes.size(), 60'000u);
  EXPECT_LT(bytes.size(), 90'000u);
  EXPECT_EQ(generate_photograph(1, 0).values, generate_photograph(1, 0).values);
  EXPECT_NE(generate_photograph(1, 0).values, generate_photograph(1, 1).values);
}

TEST(Reencode, MakesPhotographsSmaller) {
  const auto folder = std::filesystem::path(RONDE_TEST_DATA) / "caltech101-mini" / "Faces";
  if (!std::filesystem::is_directory(folder)) GTEST_SKIP() << folder << " is not there";
  const auto file = std::filesystem::directory_iterator(folder)->path();
  std::ifstream stream(file, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(stream), {});
  const std::string stored = reencode_jpeg(bytes, 128, 90);
  EXPECT_LT(stored.size(), bytes.size());
  EXPECT_EQ(std::min(read_header(stored).width, read_header(stored).height), 128);
}

}  // namespace
}  // namespace ronde::data::picture
