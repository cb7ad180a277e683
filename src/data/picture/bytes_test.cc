// Pictures as bytes, with what is left to augment_pictures(), against those that the decoder finishes itself.
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "ronde/data/augment/augment.h"
#include "ronde/data/dataset.h"
#include "ronde/data/picture/generate.h"
#include "ronde/data/picture/picture_decoder.h"
#include "ronde/data/picture/reencode.h"
#include "ronde/data/records.h"
#include "ronde/data/stored_source.h"

namespace ronde::data::picture {
namespace {

Sample stored(int number, int width, int height) {
  Sample sample;
  sample.set("image", Array::bytes_of(encode_jpeg(generate_photograph(7, number, width, height), {.quality = 90})));
  sample.set("class", Array::scalar<std::int64_t>(3));
  return sample;
}

struct Made {
  std::vector<float> values;
  Augmentation augmentation;
};

// As bytes, augmented in the layout of `options`.
Made by_bytes(PictureOptions options, const Sample& sample, const Draw& draw) {
  const Layout layout = options.layout;
  options.u8 = true;
  const auto decoder = make_picture_decoder(options);
  const SampleKind kind = decoder->kind();
  EXPECT_TRUE(kind.u8 && kind.layout == Layout::ChannelsLast);
  std::vector<std::uint8_t> bytes(kind.values());
  Made made;
  made.augmentation = {.x = 99, .y = 99, .mirrored = 99, .share = 99};  // all of it is to be written
  std::int64_t number = -1;
  decoder->decode(sample, draw, {.features8 = bytes, .augmentation = {&made.augmentation, 1}, .classes = {&number, 1}});
  EXPECT_EQ(number, 3);
  AugmentOptions augment = AugmentOptions::of(kind, 1);
  augment.layout = layout;
  made.values.resize(kind.values());
  augment_pictures(augment, bytes.data(), &made.augmentation, made.values.data());
  return made;
}

std::vector<float> by_decoder(const PictureOptions& options, const Sample& sample, const Draw& draw) {
  const auto decoder = make_picture_decoder(options);
  std::vector<float> values(decoder->kind().values());
  std::int64_t number = -1;
  decoder->decode(sample, draw, {.features = values, .classes = {&number, 1}});
  return values;
}

// Half a byte's step, for each channel by its own deviation.
void expect_near(const PictureOptions& options, const std::vector<float>& values, const std::vector<float>& expected) {
  const bool planes = options.layout == Layout::ChannelsFirst;
  const auto area = static_cast<std::size_t>(options.resolution * options.resolution);
  const auto channels = static_cast<std::size_t>(options.channels);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float deviation = options.normal.deviation[planes ? i / area : i % channels];
    ASSERT_NEAR(values[i], expected[i], 0.5001 / 255 / deviation) << i;
  }
}

TEST(PicturesAsBytes, AreTheSameOnceTheyAreAugmented) {
  int mirrored = 0;
  for (const Layout layout : {Layout::ChannelsFirst, Layout::ChannelsLast})
    for (const std::int64_t channels : {1, 3})
      for (int i = 0; i < 12; ++i) {
        PictureOptions options{.resolution = 31 + i, .channels = channels, .layout = layout};
        options.augment = i != 5;
        options.rotate = i % 4 == 3;
        options.jitter = i % 4 == 2 ? 0.3 : 0;
        options.cutout = i > 7 ? 0.4 : 0;
        options.normal = parse_normalization("imagenet", channels);
        const Sample sample = stored(i, 90, 70);
        const Draw draw{.seed = 1, .epoch = 2, .index = i};
        const Made made = by_bytes(options, sample, draw);
        EXPECT_EQ(made.augmentation, (Augmentation{.mirrored = made.augmentation.mirrored})) << i;
        mirrored += made.augmentation.mirrored;
        expect_near(options, made.values, by_decoder(options, sample, draw));
      }
  EXPECT_GT(mirrored, 4);
  EXPECT_LT(mirrored, 30);
}

TEST(PicturesAsBytes, ThatAreNotResizedAreExact) {
  const PictureOptions options{.resolution = 48, .crop = {1, 1}, .layout = Layout::ChannelsLast};
  const Sample sample = stored(2, 48, 48);
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(by_bytes(options, sample, {.index = i}).values, by_decoder(options, sample, {.index = i}));
}

// Pixels in memory, all of one class.
class Photographs : public Records {
 public:
  std::string name() const override { return "photographs"; }
  std::int64_t size() const override { return 7; }
  std::size_t bytes(std::int64_t) const override { return 5000; }
  std::string where(std::int64_t index) const override { return fmt::format("photograph {}", index); }
  std::string key(std::int64_t index) const override { return std::to_string(index); }
  Sample read(std::int64_t index) const override { return stored(static_cast<int>(index), 40, 50); }
};

TEST(PicturesAsBytes, ComeInBatchesWithTheirAugmentations) {
  const PictureOptions options{.resolution = 24, .layout = Layout::ChannelsLast, .u8 = true};
  const StoredSource source({.records = std::make_shared<Photographs>(), .decoder = make_picture_decoder(options)}, 0);
  EXPECT_EQ(source.kind().bytes(), 24 * 24 * 3 + sizeof(Augmentation) + sizeof(std::int64_t));
  Pipeline pipeline = (from_source(source) | batch(4)).open();
  std::int64_t seen = 0;
  while (const auto batch = pipeline.next_batch()) {
    EXPECT_TRUE(batch->features().empty() && batch->features16().empty());
    ASSERT_EQ(batch->features8().size(), static_cast<std::size_t>(batch->size()) * 24 * 24 * 3);
    for (std::int64_t i = 0; i < batch->size(); ++i, ++seen) {
      const Made made = by_bytes(options, stored(static_cast<int>(seen), 40, 50), {.index = seen});
      EXPECT_EQ(batch->sample(i).augmentation[0], made.augmentation);
      std::vector<float> values(made.values.size());
      AugmentOptions augment = AugmentOptions::of(batch->facts().kind, 1);
      augment.layout = Layout::ChannelsLast;
      augment_pictures(augment, batch->sample(i).features8.data(), batch->sample(i).augmentation.data(), values.data());
      EXPECT_EQ(values, made.values) << seen;
    }
  }
  EXPECT_EQ(seen, 7);
}

}  // namespace
}  // namespace ronde::data::picture
