#include "ronde/data/picture/resize/resize.h"

#include <cmath>
#include <cstring>
#include <limits>

#include <gtest/gtest.h>

#include "ronde/data/order/random.h"
#include "ronde/data/picture/resize/resizer.h"

namespace ronde::data::picture {
namespace {

int weight(const Axis& axis, int output, int tap) {
  return axis.pair(tap / 2, output)[tap % 2];
}

TEST(Axis, WeightsAddUpToOneAndStayInside) {
  Axis axis;
  for (const int in : {1, 2, 3, 7, 100, 499, 5000})
    for (const int out : {1, 2, 5, 224, 300}) {
      axis.set(in, 0, in, out);
      for (int i = 0; i < out; ++i) {
        int sum = 0;
        for (int k = 0; k < axis.taps; ++k) {
          sum += weight(axis, i, k);
          if (axis.begin[static_cast<std::size_t>(i)] + k >= in) {
            EXPECT_EQ(weight(axis, i, k), 0);
          }
          EXPECT_GE(weight(axis, i, k), 0);
        }
        ASSERT_EQ(sum, 1 << kWeightBits) << in << " to " << out << ", output " << i;
        ASSERT_GE(axis.begin[static_cast<std::size_t>(i)], 0);
        ASSERT_LT(axis.begin[static_cast<std::size_t>(i)], in);
      }
    }
}

TEST(Axis, IsATriangle) {
  Axis axis;
  axis.set(4, 0, 4, 4);  // the same size: each output is its input
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(axis.begin[static_cast<std::size_t>(i)], i);
    EXPECT_EQ(weight(axis, i, 0), 1 << kWeightBits);
  }
  axis.set(4, 0, 4, 8);  // twice: a quarter and three quarters
  EXPECT_EQ(axis.begin[3], 1);
  EXPECT_EQ(weight(axis, 3, 0), 3 << (kWeightBits - 2));
  EXPECT_EQ(weight(axis, 3, 1), 1 << (kWeightBits - 2));
  EXPECT_EQ(weight(axis, 0, 0), 1 << kWeightBits);  // there is nothing before the first
  axis.set(8, 0, 8, 4);                             // half: 1 3 3 1
  EXPECT_EQ(axis.begin[1], 1);
  const int eighth = 1 << (kWeightBits - 3);
  for (const auto& [tap, expected] : {std::pair{0, 1}, {1, 3}, {2, 3}, {3, 1}})
    EXPECT_EQ(weight(axis, 1, tap), expected * eighth);
  Axis backwards;
  backwards.set(8, 0, 8, 4, true);
  EXPECT_EQ(backwards.begin[2], axis.begin[1]);
}

struct Made {
  std::vector<std::int16_t> along;
  std::vector<float> across;
  std::vector<Bf16> across16;
  std::vector<std::uint8_t> across8;
};

Made make(const Kernels& kernels, int in, int out, RowShape shape) {
  Axis x, y;
  x.set(in, 0.25, in - 0.5, out);
  y.set(9, 0, 9, 3);
  std::vector<std::uint8_t> row(static_cast<std::size_t>(in) * 4 + kRowSlack);
  Random random(1, static_cast<std::uint64_t>(in));
  for (auto& byte : row) byte = static_cast<std::uint8_t>(random.below(256));
  const std::size_t count = static_cast<std::size_t>(out * shape.channels);
  Made made{std::vector<std::int16_t>(count), std::vector<float>(count), std::vector<Bf16>(count),
            std::vector<std::uint8_t>(count)};
  kernels.along(x, row.data(), shape, made.along.data());
  std::vector<std::vector<std::int16_t>> rows(static_cast<std::size_t>(y.taps), std::vector<std::int16_t>(count + 2));
  std::vector<const std::int16_t*> starts;
  for (auto& one : rows) {
    for (auto& value : one) value = static_cast<std::int16_t>(random.below(32641));
    starts.push_back(one.data());
  }
  std::vector<float> scale(count), shift(count);
  for (auto& value : scale) value = random.uniform() * kSumToByte;
  for (auto& value : shift) value = random.uniform(-100, 100);
  const Sum sum{.axis = &y,
                .output = 1,
                .rows = starts.data(),
                .first = 2,
                .count = count,
                .scale = scale.data(),
                .shift = shift.data()};
  kernels.across(sum, made.across.data());
  kernels.across16(sum, made.across16.data());
  kernels.across8(sum, made.across8.data());
  return made;
}

TEST(Kernels, VectorUnitsGiveTheSameBits) {
  if (!avx2_kernels()) GTEST_SKIP() << "this processor has no AVX2";
  for (const int channels : {1, 3})
    for (const Layout layout : {Layout::ChannelsFirst, Layout::ChannelsLast})
      for (const auto& [in, out] : {std::pair{1, 5}, {3, 224}, {300, 224}, {1000, 37}, {224, 224}}) {
        const Made plain = make(plain_kernels(), in, out, {channels, layout});
        const Made fast = make(*avx2_kernels(), in, out, {channels, layout});
        EXPECT_EQ(plain.along, fast.along);
        EXPECT_EQ(plain.across, fast.across);
        ASSERT_EQ(std::memcmp(plain.across16.data(), fast.across16.data(), plain.across16.size() * sizeof(Bf16)), 0);
        for (std::size_t i = 0; i < plain.across.size(); ++i)
          ASSERT_EQ(plain.across16[i].bits, to_bf16(plain.across[i]).bits);
        EXPECT_EQ(plain.across8, fast.across8);
      }
}

TEST(Bf16, RoundsToNearestAndTiesToEven) {
  const auto rounded = [](std::uint32_t bits) {
    float value = 0;
    std::memcpy(&value, &bits, sizeof value);
    return to_bf16(value).bits;
  };
  EXPECT_EQ(rounded(0x3f800000), 0x3f80);
  EXPECT_EQ(rounded(0x3f807fff), 0x3f80);
  EXPECT_EQ(rounded(0x3f808000), 0x3f80);  // a tie: to the even one
  EXPECT_EQ(rounded(0x3f818000), 0x3f82);
  EXPECT_EQ(rounded(0x3f808001), 0x3f81);
  EXPECT_EQ(rounded(0xbf818000), 0xbf82);
  EXPECT_EQ(to_float(to_bf16(-2.5f)), -2.5f);
  EXPECT_TRUE(std::isnan(to_float(to_bf16(std::numeric_limits<float>::quiet_NaN()))));
}

}  // namespace
}  // namespace ronde::data::picture
