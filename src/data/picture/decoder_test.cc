#include "ronde/data/picture/picture_decoder.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include <gtest/gtest.h>

#include "ronde/data/picture/generate.h"
#include "ronde/data/picture/pixel_rows.h"
#include "ronde/data/picture/png.h"
#include "ronde/data/picture/resize/resizer.h"
#include "ronde/data/picture/testing/pictures.h"
#include "ronde/data/picture/testing/reference.h"
#include "ronde/data/testing/folder.h"

namespace ronde::data::picture {
namespace {

Sample stored(std::string_view bytes, std::int64_t number = 3) {
  Sample sample;
  sample.set("image", Array::bytes_of(bytes));
  sample.set("class", Array::scalar<std::int64_t>(number));
  return sample;
}

std::vector<float> decoded(const PictureOptions& options, const Sample& sample, const Draw& draw) {
  const auto decoder = make_picture_decoder(options);
  std::vector<float> features(decoder->kind().values(), 1e9f);
  std::vector<Bf16> features16(options.bf16 ? features.size() : 0);
  std::int64_t number = -1;
  decoder->decode(sample, draw, {.features = features, .features16 = features16, .classes = {&number, 1}});
  EXPECT_EQ(number, 3);
  for (std::size_t i = 0; i < features16.size(); ++i) features[i] = to_float(features16[i]);
  return features;
}

// The largest difference, in bytes' values: everything is divided by 255 * deviation, about 57.
double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, static_cast<double>(std::abs(a[i] - b[i])));
  return most * 57;
}

constexpr double kRounding = 0.05;  // of 255: weights have 14 bits, rows 7 beyond the point

std::vector<std::string> photographs(std::size_t most) {
  const auto folder = std::filesystem::path(RONDE_TEST_DATA) / "caltech101-mini";
  std::vector<std::filesystem::path> files;
  if (std::filesystem::is_directory(folder))
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
      if (entry.path().extension() == ".jpg" && entry.is_regular_file()) files.push_back(entry.path());
  std::ranges::sort(files);
  std::vector<std::string> bytes;
  for (std::size_t i = 0; i < most && i < files.size(); ++i) {
    std::ifstream stream(files[i * files.size() / most], std::ios::binary);
    bytes.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  }
  return bytes;
}

TEST(PictureDecoder, PhotographsAreAsThePlainPathMakesThem) {
  const auto files = photographs(12);
  if (files.empty()) GTEST_SKIP() << RONDE_TEST_DATA << "/caltech101-mini is not there";
  PictureOptions options{.resolution = 64};
  for (std::size_t i = 0; i < files.size(); ++i) {
    const Draw draw{.seed = 1, .epoch = 2, .index = static_cast<std::int64_t>(i)};
    ASSERT_LT(largest_difference(decoded(options, stored(files[i]), draw), reference(files[i], options, draw)),
              kRounding)
        << i;
  }
}

// Every place of a crop against all blocks' borders, for each way to sample chroma.
TEST(PictureDecoder, CropsAreExactWhereverTheyBegin) {
  for (const bool full_chroma : {false, true})
    for (const int channels : {1, 3}) {
      const Pixels picture = generate_photograph(4, 1, 90, 70);
      const std::string bytes = encode_jpeg(picture, {.quality = 85, .full_chroma = full_chroma});
      const Header header = read_header(bytes);
      const Pixels whole = decode_pixels(bytes, channels);
      JpegReader reader;
      for (int i = 0; i < 150; ++i) {
        Random random(9, static_cast<std::uint64_t>(i));
        Window window{static_cast<int>(random.below(60)), static_cast<int>(random.below(50))};
        window.width = 1 + static_cast<int>(random.below(static_cast<std::uint64_t>(90 - window.left)));
        window.height = 1 + static_cast<int>(random.below(static_cast<std::uint64_t>(70 - window.top)));
        reader.start(bytes, header, {.window = window, .channels = channels});
        const int step = channels == 1 ? 1 : 4;
        const auto stride = static_cast<std::size_t>(reader.row_pixels() * step);
        std::vector<std::uint8_t> rows(stride * static_cast<std::size_t>(window.height));
        for (int y = 0; y < window.height;)
          y += reader.read(rows.data() + static_cast<std::size_t>(y) * stride, stride, window.height - y);
        reader.finish();
        for (int y = 0; y < window.height; ++y)
          for (int x = 0; x < window.width; ++x)
            for (int c = 0; c < channels; ++c)
              ASSERT_EQ(rows[static_cast<std::size_t>(y) * stride +
                             static_cast<std::size_t>((reader.first() + x) * step + c)],
                        whole.at(window.top + y)[(window.left + x) * channels + c])
                  << window.left << "," << window.top << " " << window.width << "x" << window.height << " at " << x
                  << "," << y;
      }
    }
}

// All rows, by the library alone or with our reading of coefficients.
std::vector<std::uint8_t> rows_of(const std::string& bytes, bool plain) {
  const Header header = read_header(bytes);
  JpegReader reader;
  reader.start(bytes, header, {.window = {0, 0, header.width, header.height}, .plain = plain});
  const auto stride = static_cast<std::size_t>(header.width) * 4;
  std::vector<std::uint8_t> rows(stride * static_cast<std::size_t>(header.height));
  for (int y = 0; y < header.height;)
    y += reader.read(rows.data() + static_cast<std::size_t>(y) * stride, stride, header.height - y);
  reader.finish();
  return rows;
}

TEST(PictureDecoder, OurCoefficientsAreTheLibrarys) {
  auto files = photographs(20);
  for (const int quality : {1, 30, 75, 95, 100})
    for (const bool optimise : {false, true})
      for (const bool full_chroma : {false, true}) {
        const JpegStyle style{.quality = quality, .optimise = optimise, .full_chroma = full_chroma};
        files.push_back(encode_jpeg(generate_photograph(3, quality, 97, 61), style));
        files.push_back(encode_jpeg(gradient(33, 70, 1), style));
      }
  files.push_back(encode_jpeg(gradient(60, 60, 3), {.restart_rows = 1}));
  Pixels noise{.width = 64, .height = 64, .channels = 3};  // every code there is, and long ones
  Random random(1);
  for (int i = 0; i < 64 * 64 * 3; ++i) noise.values.push_back(static_cast<std::uint8_t>(random.next()));
  files.push_back(encode_jpeg(noise, {.quality = 100, .optimise = false}));
  files.push_back(encode_jpeg(noise, {.quality = 100}));
  for (std::size_t i = 0; i < files.size(); ++i) ASSERT_EQ(rows_of(files[i], true), rows_of(files[i], false)) << i;
}

TEST(PictureDecoder, EveryChangeIsAsThePlainPathMakesIt) {
  const Pixels picture = generate_photograph(1, 0, 130, 97);
  const std::vector<std::string> files = {encode_jpeg(picture), encode_jpeg(picture, {.progressive = true}),
                                          encode_png(picture), encode_png(picture, {.interlaced = true}),
                                          encode_jpeg(gradient(40, 60, 1))};
  std::int64_t index = 0;
  for (const std::string& bytes : files)
    for (const bool augment : {true, false})
      for (const std::int64_t channels : {1, 3})
        for (const double much : {0.0, 0.5}) {
          PictureOptions options{.resolution = 48,
                                 .channels = channels,
                                 .augment = augment,
                                 .rotate = much > 0,
                                 .jitter = much,
                                 .cutout = much / 2};
          options.normal = parse_normalization("imagenet", channels);
          const Draw draw{.seed = 5, .epoch = 1, .index = index++};
          ASSERT_LT(largest_difference(decoded(options, stored(bytes), draw), reference(bytes, options, draw)),
                    kRounding);
        }
}

TEST(PictureDecoder, ShrunkDecodingIsAsThePlainPathAndNearTheFull) {
  const Pixels picture = generate_photograph(2, 0, 700, 530);
  const std::string bytes = encode_jpeg(picture, {.quality = 95});
  for (const int side : {16, 32, 64, 128}) {
    PictureOptions options{.resolution = side, .crop = {0.9, 1}};
    const Draw draw{.seed = 1};
    const auto ours = decoded(options, stored(bytes), draw);
    EXPECT_LT(largest_difference(ours, reference(bytes, options, draw)), kRounding);
    Sample pixels;  // the same, never shrunk: of a PNG it is all pixels
    const std::string png = encode_png(decode_pixels(bytes));
    const auto full = decoded(options, stored(png), draw);
    double sum = 0;
    for (std::size_t i = 0; i < full.size(); ++i) sum += std::abs(static_cast<double>(full[i] - ours[i]));
    EXPECT_LT(57 * sum / static_cast<double>(full.size()), 2.0) << side;
  }
}

TEST(PictureDecoder, LayoutsAndTypesAgree) {
  const std::string bytes = encode_jpeg(generate_photograph(1, 1, 200, 150));
  const Draw draw{.seed = 1, .epoch = 4, .index = 6};
  for (const double jitter : {0.0, 0.3})
    for (const bool rotate : {false, true}) {
      PictureOptions options{.resolution = 40, .rotate = rotate, .jitter = jitter, .cutout = 0.3};
      const auto first = decoded(options, stored(bytes), draw);
      options.layout = Layout::ChannelsLast;
      const auto last = decoded(options, stored(bytes), draw);
      for (std::size_t i = 0; i < 1600; ++i)
        for (std::size_t c = 0; c < 3; ++c) ASSERT_EQ(first[c * 1600 + i], last[3 * i + c]);
      options.bf16 = true;
      const auto half = decoded(options, stored(bytes), draw);
      for (std::size_t i = 0; i < last.size(); ++i) ASSERT_EQ(half[i], to_float(to_bf16(last[i])));
    }
}

TEST(PictureDecoder, PixelsAreTakenAsTheyAre) {
  const Pixels picture = gradient(30, 20, 3);
  Sample pixels = stored("");
  Array array(Type::U8, {20, 30, 3});
  std::ranges::copy(picture.values, array.values<std::uint8_t>().begin());
  pixels.set("image", array);
  const Draw draw{.seed = 1, .epoch = 0, .index = 2};
  const std::string png = encode_png(picture);
  for (const std::int64_t channels : {1, 3}) {
    PictureOptions options{.resolution = 24, .channels = channels, .normal = parse_normalization("imagenet", channels)};
    EXPECT_EQ(decoded(options, pixels, draw), decoded(options, stored(png), draw));
  }
}

TEST(PictureDecoder, ThreadsMakeNoDifference) {
  std::vector<Sample> samples;
  for (int i = 0; i < 24; ++i) {
    const Pixels picture = generate_photograph(1, i, 60 + 9 * i, 80);
    samples.push_back(stored(i % 5 == 4 ? encode_png(picture) : encode_jpeg(picture, {.progressive = i % 7 == 3})));
  }
  const auto decoder = make_picture_decoder({.resolution = 32, .rotate = true, .jitter = 0.2});
  const std::size_t values = decoder->kind().values();
  const auto all = [&](int threads) {
    std::vector<float> features(values * samples.size());
    std::vector<std::int64_t> classes(samples.size());
    std::vector<std::thread> running;
    for (int t = 0; t < threads; ++t)
      running.emplace_back([&, t] {
        for (std::size_t i = static_cast<std::size_t>(t); i < samples.size(); i += static_cast<std::size_t>(threads))
          decoder->decode(samples[i], {.seed = 3, .epoch = 1, .index = static_cast<std::int64_t>(i)},
                          {.features = std::span(features).subspan(i * values, values),
                           .classes = std::span(classes).subspan(i, 1)});
      });
    for (auto& thread : running) thread.join();
    return features;
  };
  EXPECT_EQ(all(1), all(8));
}

// What libraries and we took, against what was said before; a picture of each kind, of odd sizes.
TEST(PictureDecoder, TakesNoMoreMemoryThanItSays) {
  for (const auto& [width, height] : {std::pair{1, 1}, {17, 9}, {333, 251}, {1500, 40}, {40, 1500}}) {
    const Pixels colours = generate_photograph(1, 0, width, height), grey = gradient(width, height, 1);
    const Window all{0, 0, width, height};
    for (const bool progressive : {false, true})
      for (const bool full_chroma : {false, true})
        for (const Pixels* picture : {&colours, &grey}) {
          const std::string bytes = encode_jpeg(*picture, {.progressive = progressive, .full_chroma = full_chroma});
          const Header header = read_header(bytes);
          JpegReader reader;
          reader.start(bytes, header, {.window = all});
          std::vector<std::uint8_t> row(static_cast<std::size_t>(width) * 4);
          for (int y = 0; y < height; ++y) reader.read(row.data(), row.size(), 1);
          EXPECT_LE(reader.used(), library_bytes(header)) << width << " x " << height;
          EXPECT_GE(4 * reader.used() + (512u << 10), library_bytes(header)) << width << " x " << height;
        }
    for (const bool interlaced : {false, true}) {
      const std::string bytes = encode_png(colours, {.interlaced = interlaced});
      const Header header = read_header(bytes);
      PngReader reader;
      reader.start(bytes, header, all, 3);
      std::vector<std::uint8_t> row(static_cast<std::size_t>(width) * 4);
      for (int y = 0; y < height; ++y) reader.read(row.data(), row.size(), 1);
      EXPECT_LE(reader.used(), library_bytes(header));
    }
    for (const int side : {1, 24, 224}) {
      PixelRows rows;
      rows.start(colours.values.data(), width, 3, all, 3);
      Resizer resizer;
      resizer.x.set(width, 0, width, side);
      resizer.y.set(height, 0, height, side);
      resizer.start(rows, {});
      for (int y = 0; y < side; ++y) (void)resizer.rows_for(y);
      EXPECT_LE(resizer.bytes(), Resizer::bytes_for(width, height, side, side, {}));
    }
  }
}

TEST(PictureDecoder, OtherKindsOfPngAndJpegAreRead) {
  const auto grey_of = [](const std::string& bytes) { return decode_pixels(bytes, 1).values; };
  Pixels sixteen{.width = 6, .height = 5, .channels = 6};  // two bytes for each of three colours
  for (int i = 0; i < 180; ++i) sixteen.values.push_back(static_cast<std::uint8_t>(i));
  const Pixels upper = decode_pixels(encode_png(sixteen, {.bits = 16}));
  for (std::size_t i = 0; i < upper.values.size(); ++i) EXPECT_NEAR(upper.values[i], 2.0 * static_cast<double>(i), 1.0);
  Pixels transparent{
      .width = 2, .height = 2, .channels = 4, .values = {9, 8, 7, 0, 6, 5, 4, 255, 3, 2, 1, 9, 50, 60, 70, 80}};
  EXPECT_EQ(decode_pixels(encode_png(transparent, {.colours = PNG_COLOR_TYPE_RGBA})).values,
            (std::vector<std::uint8_t>{9, 8, 7, 6, 5, 4, 3, 2, 1, 50, 60, 70}));
  const Pixels palette{.width = 3, .height = 1, .channels = 1, .values = {0, 200, 255}};
  EXPECT_EQ(decode_pixels(encode_png(palette, {.colours = PNG_COLOR_TYPE_PALETTE})).values,
            (std::vector<std::uint8_t>{0, 255, 0, 200, 55, 100, 255, 0, 127}));
  EXPECT_EQ(grey_of(encode_png(palette)), palette.values);
  // Four inks: none of the first three is white, as much as there is black.
  Pixels inks{.width = 16, .height = 16, .channels = 4};
  for (int i = 0; i < 256; ++i) inks.values.insert(inks.values.end(), {255, 255, 0, 200});
  const Pixels colours = decode_pixels(encode_jpeg(inks, {.quality = 100}));
  EXPECT_NEAR(colours.values[0], 200, 2);
  EXPECT_NEAR(colours.values[1], 200, 2);
  EXPECT_NEAR(colours.values[2], 0, 2);
  EXPECT_NEAR(grey_of(encode_jpeg(inks, {.quality = 100}))[0], 0.886 * 200, 3);
}

TEST(PictureDecoder, TargetsAreChecked) {
  const std::string bytes = encode_jpeg(gradient(20, 20, 3));
  const auto failure = [&](const PictureOptions& options, const Sample& sample) {
    return message_of([&] {
      const auto decoder = make_picture_decoder(options);
      std::vector<float> features(decoder->kind().values()), flags(decoder->kind().flag_values());
      std::int64_t number = -1;
      decoder->decode(sample, {}, {.features = features, .classes = {&number, 1}, .flags = flags});
    });
  };
  EXPECT_EQ(failure({.resolution = 8, .classes = 3}, stored(bytes)),
            "class 3 is out of range; there are 3 classes, from 0 to 2");
  EXPECT_EQ(failure({.resolution = 8, .classes = 3}, stored(bytes, -1)),
            "class -1 is out of range; there are 3 classes, from 0 to 2");
  EXPECT_EQ(failure({.resolution = 8, .target = Target::Labels, .classes = 3}, stored(bytes)),
            "the sample has no 'labels'; it has image, class");
  Sample sample = stored(bytes);
  sample.set("labels", Array::bytes_of(std::string_view("\1\0", 2)));
  EXPECT_EQ(failure({.resolution = 8, .target = Target::Labels, .classes = 3}, sample),
            "'labels' is u8[2], but there are 3 classes");
  EXPECT_EQ(failure({.resolution = 8, .target = Target::Labels, .classes = 2}, sample), "");
  sample.set("image", Array(Type::F32, {3}));
  EXPECT_TRUE(failure({.resolution = 8}, sample)
                  .starts_with("'image' must be the bytes of a picture or u8[height,width,channels], got f32[3]"));
  EXPECT_TRUE(failure({.target = Target::Mask}, sample).starts_with("data.target = mask"));
  EXPECT_TRUE(failure({.resolution = 0}, sample).starts_with("data.resolution must be from 1 to 16384, got 0"));
  EXPECT_TRUE(failure({.channels = 2}, sample).starts_with("data.channels must be 3, or 1 for grey pictures, got 2"));
}

}  // namespace
}  // namespace ronde::data::picture
