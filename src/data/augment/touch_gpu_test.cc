// What only a GPU can show: the kernel gives the same bits as the plain form. Skipped, with the reason, where there is
// none. compute-sanitizer looks on here, so all memory is as small as it may be.
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/base/text/format.h"
#include "ronde/data/augment/touch.h"
#include "ronde/data/order/random.h"
#include "ronde/device/memory.h"

namespace ronde::data {
namespace {

class TouchOnGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (device::count() == 0) GTEST_SKIP() << device::why_none();
    if (!can_touch_on_gpu()) GTEST_SKIP() << "this build has no kernels: there was no nvcc";
  }
};

struct Pictures {
  std::vector<std::uint8_t> bytes;
  std::vector<PictureTouch> touches;
};

// Every kind of touch, in turn: mirrored or not, outside or not, mixed or not.
Pictures some(const Touching& touching, bool mixes, bool moves) {
  Random random(3, static_cast<std::uint64_t>(touching.width), static_cast<std::uint64_t>(touching.channels));
  Pictures made;
  made.bytes.resize(touching.from_bytes());
  for (std::uint8_t& byte : made.bytes) byte = static_cast<std::uint8_t>(random.below(256));
  for (std::int64_t i = 0; i < touching.pictures; ++i) {
    PictureTouch touch{.mirrored = static_cast<std::int32_t>(i % 3 == 1)};
    if (moves) {
      const auto shift = [&](int from, int to) {
        return static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(from + to))) - to / 2;
      };
      touch.x = i == 0 ? -touching.width : shift(touching.from_width, touching.width);
      touch.y = i == 3 ? touching.from_height : shift(touching.from_height, touching.height);
    }
    if (mixes && i / 2 % 2 == 0) touch.share = random.uniform();
    made.touches.push_back(touch);
  }
  return made;
}

std::vector<std::byte> on_gpu(const Touching& touching, const Pictures& pictures) {
  const device::Stream stream(0);
  const std::size_t touch_bytes = pictures.touches.size() * sizeof(PictureTouch);
  const device::DeviceBuffer from(0, touching.from_bytes()), touches(0, touch_bytes), into(0, touching.into_bytes());
  std::vector<std::byte> result(touching.into_bytes());
  device::copy_async(from.data(), pictures.bytes.data(), from.size(), stream);
  device::copy_async(touches.data(), pictures.touches.data(), touch_bytes, stream);
  touch_pictures_on(stream, touching, reinterpret_cast<const std::uint8_t*>(from.data()),
                    reinterpret_cast<const PictureTouch*>(touches.data()), into.data());
  device::copy_async(result.data(), into.data(), result.size(), stream);
  stream.synchronize();
  return result;
}

void expect_same(const Touching& touching, bool mixes, bool moves) {
  const Pictures pictures = some(touching, mixes, moves);
  std::vector<std::byte> expected(touching.into_bytes());
  touch_pictures(touching, pictures.bytes.data(), pictures.touches.data(), expected.data());
  EXPECT_EQ(std::memcmp(on_gpu(touching, pictures).data(), expected.data(), expected.size()), 0)
      << fmt::format("{} pictures, {} x {} from {} x {}, {} channels, {}, {}{}{}", touching.pictures, touching.height,
                     touching.width, touching.from_height, touching.from_width, touching.channels,
                     touching.layout == Layout::ChannelsFirst ? "first" : "last", touching.bf16 ? "bf16" : "f32",
                     mixes ? ", mixed" : "", moves ? ", moved" : "");
}

// In every layout and type.
void expect_same_of(Touching touching) {
  touching.pixels = {.scale = {1 / 58.4f, 1 / 57.1f, 1 / 57.4f, 1 / 255.0f}, .shift = {-2.1f, -2.03f, -1.8f, 0}};
  for (const Layout layout : {Layout::ChannelsFirst, Layout::ChannelsLast})
    for (const bool bf16 : {false, true})
      for (const bool mixes : {false, true})
        for (const bool moves : {false, true}) {
          touching.layout = layout;
          touching.bf16 = bf16;
          expect_same(touching, mixes, moves);
        }
}

TEST_F(TouchOnGpu, GivesTheSameBitsForOddSizes) {
  for (const int channels : {1, 2, 3, 4}) {
    expect_same_of(
        {.pictures = 5, .channels = channels, .from_height = 37, .from_width = 53, .height = 37, .width = 53});
    expect_same_of(
        {.pictures = 6, .channels = channels, .from_height = 41, .from_width = 60, .height = 37, .width = 53});
    expect_same_of({.pictures = 4, .channels = channels, .from_height = 7, .from_width = 5, .height = 9, .width = 6});
    expect_same_of({.pictures = 1, .channels = channels, .from_height = 1, .from_width = 1, .height = 1, .width = 1});
  }
}

TEST_F(TouchOnGpu, GivesTheSameBitsForUsualSizes) {
  for (const int channels : {1, 3, 4}) {
    expect_same_of(
        {.pictures = 4, .channels = channels, .from_height = 32, .from_width = 32, .height = 32, .width = 32});
    expect_same_of(
        {.pictures = 3, .channels = channels, .from_height = 64, .from_width = 72, .height = 56, .width = 64});
    expect_same_of(
        {.pictures = 2, .channels = channels, .from_height = 16, .from_width = 300, .height = 16, .width = 296});
  }
}

TEST_F(TouchOnGpu, ABatchTakesLittleTime) {
  Touching touching{.pictures = 256, .layout = Layout::ChannelsLast, .bf16 = true};
  touching.pixels = {.scale = {1, 1, 1}};
  const device::Stream stream(0);
  const device::DeviceBuffer from(0, touching.from_bytes()), into(0, touching.into_bytes());
  const std::vector<PictureTouch> host(256, PictureTouch{.mirrored = 1, .share = 0.3f});
  const device::DeviceBuffer touches(0, host.size() * sizeof(PictureTouch));
  device::copy_async(touches.data(), host.data(), touches.size(), stream);
  device::Event start(stream, {.timing = true}), end(stream, {.timing = true});
  constexpr int kTurns = 10;
  for (int turn = 0; turn <= kTurns; ++turn) {
    if (turn == 1) start.record(stream);  // the first one sets things up
    touch_pictures_on(stream, touching, reinterpret_cast<const std::uint8_t*>(from.data()),
                      reinterpret_cast<const PictureTouch*>(touches.data()), into.data());
  }
  end.record(stream);
  end.synchronize();
  const double milliseconds = device::elapsed(start, end).count() * 1e3 / kTurns;
  RecordProperty("milliseconds", fmt::format("{:.3f}", milliseconds));
  EXPECT_GT(milliseconds, 0);
}

TEST_F(TouchOnGpu, RefusesWhatCannotBe) {
  const device::Stream stream(0);
  EXPECT_THROW(touch_pictures_on(stream, {.pictures = 1, .channels = 7}, nullptr, nullptr, nullptr), Error);
  touch_pictures_on(stream, {.pictures = 0}, nullptr, nullptr, nullptr);
}

}  // namespace
}  // namespace ronde::data
