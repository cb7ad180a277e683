#include "ronde/comm/math/convert.h"

#include <array>
#include <limits>
#include <numeric>

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/comm/math/half.h"
#include "ronde/comm/math/reduce_reference.h"

namespace ronde::comm::math {
namespace {

constexpr std::array kLevels = {Level::Baseline, Level::Avx2, Level::Avx512};
constexpr std::array kFloats = {DType::F16, DType::BF16, DType::F32, DType::F64};

template <class T>
Elements bytes_of(const std::vector<T>& values) {
  Elements bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

Elements every_kind_of(DType dtype) {
  if (dtype == DType::F64) return bytes_of(awkward_doubles());
  if (dtype == DType::F32) return bytes_of(awkward_floats());
  std::vector<std::uint16_t> patterns(65536);
  std::iota(patterns.begin(), patterns.end(), std::uint16_t{0});
  return bytes_of(patterns);
}

Elements slow_convert(DType to, DType from, const Elements& in) {
  const std::size_t count = in.size() / size_of(from);
  Elements out(count * size_of(to));
  for (std::size_t i = 0; i < count; ++i)
    store_float(to, out.data() + i * size_of(to), load_float(from, in.data() + i * size_of(from)));
  return out;
}

TEST(Convert, EqualsTheReferenceBetweenAllTypesOnEveryLevel) {
  for (const DType from : kFloats) {
    const Elements in = every_kind_of(from);
    const std::size_t count = in.size() / size_of(from);
    for (const DType to : kFloats) {
      const Elements expected = slow_convert(to, from, in);
      for (const Level level : kLevels) {
        if (!can_run(level)) continue;
        Elements out(expected.size());
        convert(to, out.data(), from, in.data(), count, level);
        EXPECT_EQ(first_difference(to, out.data(), expected.data(), count), -1)
            << name(from) << " to " << name(to) << ", level " << static_cast<int>(level);
      }
    }
  }
}

TEST(Convert, ShortAndSkewedArraysAreDoneToTheLastElementAndNoFurther) {
  for (std::size_t count = 0; count < 70; ++count) {
    std::vector<std::uint16_t> halves(count + 2, 0x3c00);
    std::vector<float> singles(count + 2, -1.0f);
    convert(DType::F32, reinterpret_cast<std::byte*>(singles.data() + 1), DType::F16,
            reinterpret_cast<const std::byte*>(halves.data() + 1), count);
    std::vector<float> expected(count + 2, 1.0f);
    expected.front() = expected.back() = -1.0f;
    EXPECT_EQ(singles, expected);
    convert(DType::BF16, reinterpret_cast<std::byte*>(halves.data() + 1), DType::F32,
            reinterpret_cast<const std::byte*>(singles.data() + 1), count);
    std::vector<std::uint16_t> back(count + 2, 0x3f80);
    back.front() = back.back() = 0x3c00;
    EXPECT_EQ(halves, back);
  }
}

TEST(Convert, RefusesIntegers) {
  try {
    convert(DType::F16, nullptr, DType::I32, nullptr, 0);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::Bug);
    EXPECT_EQ(error.message(), "there is no conversion from i32 to f16");
  }
}

template <class T>
std::vector<T> scaled(DType dtype, std::vector<T> values, double factor) {
  scale(dtype, reinterpret_cast<std::byte*>(values.data()), values.size(), factor);
  return values;
}

TEST(Scale, AFactorOfOneLeavesEveryBitAlone) {
  std::vector<std::uint16_t> patterns(65536);
  std::iota(patterns.begin(), patterns.end(), std::uint16_t{0});
  EXPECT_EQ(scaled(DType::F16, patterns, 1.0), patterns) << "not even a signalling NaN changes";
}

TEST(Scale, RoundsHalvesOnceOverManyBlocks) {
  std::mt19937_64 random(3);
  for (const DType dtype : {DType::F16, DType::BF16}) {
    const Elements in = random_elements(dtype, 5000, random);
    for (const Level level : kLevels) {
      if (!can_run(level)) continue;
      Elements out = in;
      scale(dtype, out.data(), 5000, 1.1, level);
      EXPECT_EQ(first_difference(dtype, out.data(), slow_reduce(dtype, ReduceOp::Sum, {in}, 1.1).data(), 5000), -1);
    }
  }
}

TEST(Scale, IntegersAreTruncatedTowardsZero) {
  EXPECT_EQ(scaled<std::int32_t>(DType::I32, {7, -7, 5, -5}, 0.3), (std::vector<std::int32_t>{2, -2, 1, -1}));
  EXPECT_EQ(scaled<std::int8_t>(DType::I8, {7, -7, -128}, 0.5), (std::vector<std::int8_t>{3, -3, -64}));
}

TEST(Scale, OneOverAWholeNumberDividesExactly) {
  for (std::int64_t divisor = 2; divisor < 5000; ++divisor) {
    const std::int64_t most = std::numeric_limits<std::int64_t>::max();
    EXPECT_EQ(scaled<std::int64_t>(DType::I64, {divisor, most}, 1.0 / static_cast<double>(divisor)),
              (std::vector<std::int64_t>{1, most / divisor}));
    const std::int32_t last = std::numeric_limits<std::int32_t>::min();
    const auto small = static_cast<std::int32_t>(divisor);
    EXPECT_EQ(scaled<std::int32_t>(DType::I32, {small, small - 1, last}, 1.0 / static_cast<double>(divisor)),
              (std::vector<std::int32_t>{1, 0, last / small}));
  }
}

TEST(Scale, IntegersThatDoNotFitBecomeTheNearestThatDo) {
  EXPECT_EQ(scaled<std::uint8_t>(DType::U8, {200, 100}, 2.0), (std::vector<std::uint8_t>{255, 200}));
  EXPECT_EQ(scaled<std::int16_t>(DType::I16, {300, -300}, 1e9), (std::vector<std::int16_t>{32767, -32768}));
  EXPECT_EQ(scaled<std::int64_t>(DType::I64, {1, -1}, 1e300)[1], std::numeric_limits<std::int64_t>::min());
  EXPECT_GT(scaled<std::int64_t>(DType::I64, {1, -1}, 1e300)[0], std::int64_t{1} << 62);
  EXPECT_EQ(scaled<std::uint8_t>(DType::U8, {3}, std::nan("")), std::vector<std::uint8_t>{0});
}

TEST(Scale, BoolStaysAsItIs) {
  EXPECT_EQ(scaled<std::uint8_t>(DType::Bool, {1, 0, 1}, 0.25), (std::vector<std::uint8_t>{1, 0, 1}));
}

}  // namespace
}  // namespace ronde::comm::math
