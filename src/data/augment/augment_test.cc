#include "ronde/data/augment/augment.h"

#include <vector>

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/data/picture/bf16.h"

namespace ronde::data {
namespace {

// Bytes that stay as they are, from two grey pictures of 2 x 3.
AugmentOptions plain() {
  return {.pictures = 2,
          .channels = 1,
          .from_height = 2,
          .from_width = 3,
          .height = 2,
          .width = 3,
          .pixels = {.scale = {1, 1, 1, 1}}};
}
const std::vector<std::uint8_t> kBytes = {1, 2, 3, 4, 5, 6, 10, 20, 30, 40, 50, 60};

std::vector<float> augmented(const AugmentOptions& augment, const std::vector<Augmentation>& augmentations,
                             const std::vector<std::uint8_t>& from = kBytes) {
  std::vector<float> into(augment.into_bytes() / sizeof(float), -1.0f);
  augment_pictures(augment, from.data(), augmentations.data(), into.data());
  return into;
}

TEST(Augmentation, MirrorsAndCropsEachPictureByItself) {
  EXPECT_EQ(augmented(plain(), {{}, {.mirrored = 1}}), (std::vector<float>{1, 2, 3, 4, 5, 6, 30, 20, 10, 60, 50, 40}));
  AugmentOptions smaller = plain();
  smaller.height = 1;
  smaller.width = 2;
  EXPECT_EQ(augmented(smaller, {{.x = 1, .y = 1}, {.x = 1, .mirrored = 1}}), (std::vector<float>{5, 6, 30, 20}));
}

TEST(Augmentation, OutsideIsTheMean) {
  AugmentOptions scaled = plain();
  scaled.pixels.shift[0] = 100;
  EXPECT_EQ(augmented(scaled, {{.x = -1}, {.x = 1, .y = -1, .mirrored = 1}}),
            (std::vector<float>{0, 101, 102, 0, 104, 105, 0, 0, 0, 0, 130, 120}));
}

TEST(Augmentation, MixesNeighboursByTheirShares) {
  EXPECT_EQ(augmented(plain(), {{.share = 0.5f}, {.mirrored = 1, .share = 0.25f}}),
            (std::vector<float>{15.5f, 11, 6.5f, 32, 27.5f, 23, 8.25f, 6.5f, 4.75f, 18, 16.25f, 14.5f}));
  AugmentOptions alone = plain();
  alone.pictures = 1;
  EXPECT_EQ(augmented(alone, {{.share = 0.5f}}), (std::vector<float>{1, 2, 3, 4, 5, 6})) << "it has no neighbour";
}

TEST(Augmentation, ChannelsGoWhereTheLayoutSays) {
  AugmentOptions two = plain();
  two.pictures = 1;
  two.channels = 2;
  two.pixels = {.scale = {1, 10}, .shift = {0, 1}};
  const std::vector<Augmentation> augmentations = {{.mirrored = 1}};
  EXPECT_EQ(augmented(two, augmentations), (std::vector<float>{5, 3, 1, 50, 30, 10, 61, 41, 21, 601, 401, 201}));
  two.layout = Layout::ChannelsLast;
  EXPECT_EQ(augmented(two, augmentations), (std::vector<float>{5, 61, 3, 41, 1, 21, 50, 601, 30, 401, 10, 201}));
}

TEST(Augmentation, Bf16IsRoundedOnce) {
  AugmentOptions thirds = plain();
  thirds.pixels.scale[0] = 1.0f / 3;
  const std::vector<Augmentation> augmentations = {{.share = 0.3f}, {.share = 0.3f}};
  const std::vector<float> exact = augmented(thirds, augmentations);
  thirds.bf16 = true;
  std::vector<Bf16> rounded(exact.size());
  augment_pictures(thirds, kBytes.data(), augmentations.data(), rounded.data());
  for (std::size_t i = 0; i < exact.size(); ++i) EXPECT_EQ(rounded[i].bits, picture::to_bf16(exact[i]).bits);
}

TEST(Augmentation, RefusesWhatCannotBe) {
  AugmentOptions five = plain();
  five.channels = 5;
  EXPECT_THROW(augmented(five, {{}, {}}), Error);
  AugmentOptions empty = plain();
  empty.width = 0;
  EXPECT_THROW(augmented(empty, {{}, {}}), Error);
  EXPECT_THROW(pixel_scale({{0, 0, 0, 0, 0}, {1, 1, 1, 1, 1}}), Error);
}

}  // namespace
}  // namespace ronde::data
