// What only a GPU can show: the kernel gives the same bits as the plain form. Skipped, with the reason, where there is
// none. compute-sanitizer looks on here, so all memory is as small as it may be.
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/base/text/format.h"
#include "ronde/data/augment/augment.h"
#include "ronde/data/order/random.h"
#include "ronde/device/memory.h"

namespace ronde::data {
namespace {

class AugmentOnGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (device::count() == 0) GTEST_SKIP() << device::why_none();
    if (!can_augment_on_gpu()) GTEST_SKIP() << "this build has no kernels: there was no nvcc";
  }
};

struct Pictures {
  std::vector<std::uint8_t> bytes;
  std::vector<Augmentation> augmentations;
};

// Every kind of augmentation, in turn: mirrored or not, outside or not, mixed or not.
Pictures some(const AugmentOptions& augment, bool mixes, bool moves) {
  Random random(3, static_cast<std::uint64_t>(augment.width), static_cast<std::uint64_t>(augment.channels));
  Pictures made;
  made.bytes.resize(augment.from_bytes());
  for (std::uint8_t& byte : made.bytes) byte = static_cast<std::uint8_t>(random.below(256));
  for (std::int64_t i = 0; i < augment.pictures; ++i) {
    Augmentation augmentation{.mirrored = static_cast<std::int32_t>(i % 3 == 1)};
    if (moves) {
      const auto shift = [&](int from, int to) {
        return static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(from + to))) - to / 2;
      };
      augmentation.x = i == 0 ? -augment.width : shift(augment.from_width, augment.width);
      augmentation.y = i == 3 ? augment.from_height : shift(augment.from_height, augment.height);
    }
    if (mixes && i / 2 % 2 == 0) augmentation.share = random.uniform();
    made.augmentations.push_back(augmentation);
  }
  return made;
}

std::vector<std::byte> on_gpu(const AugmentOptions& augment, const Pictures& pictures) {
  const device::Stream stream(0);
  const std::size_t augmentation_bytes = pictures.augmentations.size() * sizeof(Augmentation);
  const device::DeviceBuffer from(0, augment.from_bytes()), augmentations(0, augmentation_bytes),
      into(0, augment.into_bytes());
  std::vector<std::byte> result(augment.into_bytes());
  device::copy_async(from.data(), pictures.bytes.data(), from.size(), stream);
  device::copy_async(augmentations.data(), pictures.augmentations.data(), augmentation_bytes, stream);
  augment_pictures_on(stream, augment, reinterpret_cast<const std::uint8_t*>(from.data()),
                      reinterpret_cast<const Augmentation*>(augmentations.data()), into.data());
  device::copy_async(result.data(), into.data(), result.size(), stream);
  stream.synchronize();
  return result;
}

void expect_same(const AugmentOptions& augment, bool mixes, bool moves) {
  const Pictures pictures = some(augment, mixes, moves);
  std::vector<std::byte> expected(augment.into_bytes());
  augment_pictures(augment, pictures.bytes.data(), pictures.augmentations.data(), expected.data());
  EXPECT_EQ(std::memcmp(on_gpu(augment, pictures).data(), expected.data(), expected.size()), 0)
      << fmt::format("{} pictures, {} x {} from {} x {}, {} channels, {}, {}{}{}", augment.pictures, augment.height,
                     augment.width, augment.from_height, augment.from_width, augment.channels,
                     augment.layout == Layout::ChannelsFirst ? "first" : "last", augment.bf16 ? "bf16" : "f32",
                     mixes ? ", mixed" : "", moves ? ", moved" : "");
}

// In every layout and type.
void expect_same_of(AugmentOptions augment) {
  augment.pixels = {.scale = {1 / 58.4f, 1 / 57.1f, 1 / 57.4f, 1 / 255.0f}, .shift = {-2.1f, -2.03f, -1.8f, 0}};
  for (const Layout layout : {Layout::ChannelsFirst, Layout::ChannelsLast})
    for (const bool bf16 : {false, true})
      for (const bool mixes : {false, true})
        for (const bool moves : {false, true}) {
          augment.layout = layout;
          augment.bf16 = bf16;
          expect_same(augment, mixes, moves);
        }
}

TEST_F(AugmentOnGpu, GivesTheSameBitsForOddSizes) {
  for (const int channels : {1, 2, 3, 4}) {
    expect_same_of(
        {.pictures = 5, .channels = channels, .from_height = 37, .from_width = 53, .height = 37, .width = 53});
    expect_same_of(
        {.pictures = 6, .channels = channels, .from_height = 41, .from_width = 60, .height = 37, .width = 53});
    expect_same_of({.pictures = 4, .channels = channels, .from_height = 7, .from_width = 5, .height = 9, .width = 6});
    expect_same_of({.pictures = 1, .channels = channels, .from_height = 1, .from_width = 1, .height = 1, .width = 1});
  }
}

TEST_F(AugmentOnGpu, GivesTheSameBitsForUsualSizes) {
  for (const int channels : {1, 3, 4}) {
    expect_same_of(
        {.pictures = 4, .channels = channels, .from_height = 32, .from_width = 32, .height = 32, .width = 32});
    expect_same_of(
        {.pictures = 3, .channels = channels, .from_height = 64, .from_width = 72, .height = 56, .width = 64});
    expect_same_of(
        {.pictures = 2, .channels = channels, .from_height = 16, .from_width = 300, .height = 16, .width = 296});
  }
}

TEST_F(AugmentOnGpu, ABatchTakesLittleTime) {
  AugmentOptions augment{.pictures = 256, .layout = Layout::ChannelsLast, .bf16 = true};
  augment.pixels = {.scale = {1, 1, 1}};
  const device::Stream stream(0);
  const device::DeviceBuffer from(0, augment.from_bytes()), into(0, augment.into_bytes());
  const std::vector<Augmentation> host(256, Augmentation{.mirrored = 1, .share = 0.3f});
  const device::DeviceBuffer augmentations(0, host.size() * sizeof(Augmentation));
  device::copy_async(augmentations.data(), host.data(), augmentations.size(), stream);
  device::Event start(stream, {.timing = true}), end(stream, {.timing = true});
  constexpr int kTurns = 10;
  for (int turn = 0; turn <= kTurns; ++turn) {
    if (turn == 1) start.record(stream);  // the first one sets things up
    augment_pictures_on(stream, augment, reinterpret_cast<const std::uint8_t*>(from.data()),
                        reinterpret_cast<const Augmentation*>(augmentations.data()), into.data());
  }
  end.record(stream);
  end.synchronize();
  const double milliseconds = device::elapsed(start, end).count() * 1e3 / kTurns;
  RecordProperty("milliseconds", fmt::format("{:.3f}", milliseconds));
  EXPECT_GT(milliseconds, 0);
}

TEST_F(AugmentOnGpu, RefusesWhatCannotBe) {
  const device::Stream stream(0);
  EXPECT_THROW(augment_pictures_on(stream, {.pictures = 1, .channels = 7}, nullptr, nullptr, nullptr), Error);
  augment_pictures_on(stream, {.pictures = 0}, nullptr, nullptr, nullptr);
}

}  // namespace
}  // namespace ronde::data
