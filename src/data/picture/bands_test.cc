#include "ronde/data/picture/bands_decoder.h"

#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "ronde/data/formats/images/bigearthnet.h"
#include "ronde/data/order/random.h"
#include "ronde/data/picture/bf16.h"
#include "ronde/data/picture/tiff.h"
#include "ronde/data/testing/folder.h"
#include "ronde/data/testing/tiff_file.h"

namespace ronde::data::picture {
namespace {

std::string content(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(stream), {});
}

struct Read {
  TiffHeader header;
  std::vector<float> values;
};
Read read(const std::string& bytes) {
  Read result;
  std::vector<std::uint8_t> strip;
  result.header = read_tiff(bytes, result.values, strip);
  return result;
}

template <class T>
void comes_back(const TiffStyle& style, Type type) {
  const Folder folder;
  std::vector<T> values;
  std::vector<float> expected(37 * 21 * style.channels);
  const bool together = style.planes == PLANARCONFIG_CONTIG;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    values.push_back(static_cast<T>(static_cast<int>(i % 97) - (std::is_signed_v<T> ? 40 : 0)));
    expected[together ? i % style.channels * 37 * 21 + i / style.channels : i] = static_cast<float>(values.back());
  }
  write_tiff(folder.path() / "a.tif", 37, 21, values, style);
  const Read result = read(content(folder.path() / "a.tif"));
  EXPECT_EQ(result.header.type, type);
  EXPECT_EQ(result.header.width, 37);
  EXPECT_EQ(result.header.height, 21);
  EXPECT_EQ(result.header.channels, style.channels);
  EXPECT_EQ(result.values, expected);
}

TEST(Tiff, TypesStripsAndTilesComeBack) {
  comes_back<std::uint8_t>({}, Type::U8);
  comes_back<std::uint16_t>({.compression = COMPRESSION_ADOBE_DEFLATE}, Type::U16);
  comes_back<std::int16_t>({.compression = COMPRESSION_LZW, .rows = 5}, Type::I16);
  comes_back<float>({.tile = 16}, Type::F32);
  comes_back<std::uint16_t>({.channels = 3, .tile = 16}, Type::U16);
  comes_back<std::uint16_t>({.channels = 3}, Type::U16);
  comes_back<std::uint8_t>({.planes = PLANARCONFIG_SEPARATE, .channels = 2}, Type::U8);
}

TEST(Tiff, DamageIsAnErrorAndNothingIsPrinted) {
  const Folder folder;
  testing::internal::CaptureStderr();
  for (const TiffStyle& style :
       {TiffStyle{}, TiffStyle{.compression = COMPRESSION_ADOBE_DEFLATE}, TiffStyle{.tile = 16}}) {
    write_tiff(folder.path() / "a.tif", 12, 9, std::vector<std::uint16_t>(12 * 9, 300), style);
    const std::string bytes = content(folder.path() / "a.tif");
    for (std::size_t size = 0; size < bytes.size() - 4; ++size)  // the last 4 say that no other picture follows
      ASSERT_NE(message_of([&] { (void)read(bytes.substr(0, size)); }), "") << size << " of " << bytes.size();
    for (std::uint64_t i = 0; i < 300; ++i) {
      std::string damaged = bytes;
      Random random(3, i);
      damaged[random.below(damaged.size())] = static_cast<char>(random.below(256));
      (void)message_of([&] { (void)read(damaged); });  // no sanitizer complains
    }
  }
  write_tiff(folder.path() / "b.tif", 4, 4, std::vector<double>(16, 1.0));
  EXPECT_EQ(message_of([&] { (void)read(content(folder.path() / "b.tif")); }),
            "a TIFF of 64 bits per value, in format 3: only u8, u16, i16 and f32 can be read");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

struct Earth : testing::Test {
  Earth() { write_bigearthnet(folder.path(), 3); }
  const Folder folder;
};

TEST_F(Earth, PatchesAreRead) {
  EXPECT_TRUE(files::looks_like_bigearthnet(folder.path()));
  EXPECT_FALSE(files::looks_like_bigearthnet(folder.path() / "S2A_patch_0"));
  const auto records = files::open_bigearthnet({.path = folder.path()});
  ASSERT_EQ(records->size(), 3);
  EXPECT_EQ(records->classes().size(), 43u);
  const Sample sample = records->read(1);
  EXPECT_EQ(sample.at("key").text(), "S2A_patch_1");
  EXPECT_EQ(records->key(1), "S2A_patch_1");
  EXPECT_LE(sample.bytes(), records->bytes(1));
  const auto labels = sample.at("labels").values<float>();
  for (std::size_t i = 0; i < 43; ++i) {
    const std::string name = records->classes()[i];
    EXPECT_EQ(labels[i], name == "Pastures" || name == "Sea and ocean" ? 1.0f : 0.0f);
  }
}

TEST_F(Earth, WhatIsMissingIsNamed) {
  const auto records = files::open_bigearthnet({.path = folder.path()});
  const auto patch = folder.path() / "S2A_patch_2";
  const auto failure = [&] { return message_of([&] { (void)records->read(2); }); };
  std::ofstream(patch / "S2A_patch_2_labels_metadata.json") << R"({"labels": ["Pasture"]})";
  EXPECT_EQ(failure(), (patch / "S2A_patch_2_labels_metadata.json").string() + ": unknown label \"Pasture\"");
  std::ofstream(patch / "S2A_patch_2_labels_metadata.json") << "{\"labels\"";
  EXPECT_EQ(failure(),
            (patch / "S2A_patch_2_labels_metadata.json").string() + ": not a JSON file with a list of \"labels\"");
  std::filesystem::remove(patch / "S2A_patch_2_B8A.tif");
  EXPECT_EQ(failure(), (patch / "S2A_patch_2_B8A.tif does not exist").string());
  std::ofstream(patch / "S2A_patch_2_B01.tif") << std::string(20000, 'x');
  EXPECT_EQ(failure(), (patch / "S2A_patch_2_B01.tif is too large for a file of labels (8992 bytes)").string());
  const Folder empty;
  EXPECT_EQ(message_of([&] { (void)files::open_bigearthnet({.path = empty.path()}); }),
            empty.text() + " holds no patches; each patch must be a folder of its own");
  EXPECT_NE(message_of([&] { (void)files::open_bigearthnet({.path = empty.path() / "no"}); }), "");
}

TEST_F(Earth, BandsOfThreeSizesBecomeOne) {
  const auto records = files::open_bigearthnet({.path = folder.path()});
  const Sample sample = records->read(1);
  BandsOptions options{.augment = false};
  const auto decode = [&](const Draw& draw) {
    const auto decoder = make_bands_decoder(options);
    std::vector<float> features(decoder->kind().values()), flags(43);
    std::vector<Bf16> features16(options.bf16 ? features.size() : 0);
    EXPECT_GT(decoder->scratch_bytes(sample, draw), 120u * 120 * 4);
    decoder->decode(sample, draw, {.features = features, .features16 = features16, .flags = flags});
    EXPECT_EQ(flags[27], 1.0f);
    for (std::size_t i = 0; i < features16.size(); ++i) features[i] = to_float(features16[i]);
    return features;
  };
  const auto plain = decode({});
  const Normalization normal = bigearthnet_normalization();
  const auto value = [&](const std::vector<float>& of, std::size_t band, std::size_t x, std::size_t y) {
    return of[band * 14400 + y * 120 + x] * normal.deviation[band] + normal.mean[band];
  };
  EXPECT_NEAR(value(plain, 1, 7, 3), 1000 + 1 + 7, 0.02);                  // 120 pixels: as they are
  EXPECT_NEAR(value(plain, 4, 7, 3), 4000 + 1 + 3.25, 0.2);                // 60: pixel 7 lies a quarter beyond 3
  EXPECT_NEAR(value(plain, 9, 62, 99), 9000 + 1 + (62.5 / 6 - 0.5), 0.5);  // 20
  EXPECT_NEAR(value(plain, 0, 0, 0), 1, 0.02);                             // there is nothing before the first
  // Turned and mirrored: the same values, at other places; both layouts and types agree.
  options.augment = true;
  options.rotate = false;
  bool mirrored = false;
  for (std::int64_t i = 0; i < 8; ++i) {
    const auto other = decode({.index = i});
    if (other == plain) continue;
    mirrored = true;
    for (std::size_t x = 0; x < 120; ++x) ASSERT_EQ(other[14400 + x], plain[14400 + 119 - x]);
  }
  EXPECT_TRUE(mirrored);
  options.rotate = true;
  options.cutout = 0.2;
  const Draw draw{.seed = 1, .epoch = 2, .index = 3};
  const auto first = decode(draw);
  options.layout = Layout::ChannelsLast;
  const auto last = decode(draw);
  options.bf16 = true;
  const auto half = decode(draw);
  for (std::size_t c = 0; c < 12; ++c)
    for (std::size_t i = 0; i < 14400; ++i) {
      ASSERT_EQ(first[c * 14400 + i], last[i * 12 + c]);
      ASSERT_EQ(half[i * 12 + c], to_float(to_bf16(last[i * 12 + c])));
    }
}

TEST_F(Earth, DamagedBandsAreNamed) {
  Sample sample = files::open_bigearthnet({.path = folder.path()})->read(0);
  sample.set("B05", Array::bytes_of("no TIFF at all"));
  const auto decoder = make_bands_decoder({});
  std::vector<float> features(decoder->kind().values()), flags(43);
  const std::string message = message_of([&] { decoder->decode(sample, {}, {.features = features, .flags = flags}); });
  EXPECT_TRUE(message.starts_with("band B05: a damaged TIFF of 14 bytes: ")) << message;
  sample.erase("B05");
  EXPECT_TRUE(message_of([&] {
                decoder->decode(sample, {}, {.features = features, .flags = flags});
              }).starts_with("band B05: the sample has no 'B05'"));
  EXPECT_TRUE(message_of([] { (void)make_bands_decoder({.bands = {"a"}}); }).starts_with("data.normalize has 0 means"));
}

}  // namespace
}  // namespace ronde::data::picture
