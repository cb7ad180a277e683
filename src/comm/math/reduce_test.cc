#include "ronde/comm/math/reduce.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <tuple>

#include <gtest/gtest.h>

#include "ronde/comm/math/reduce_reference.h"

namespace ronde::comm::math {
namespace {

constexpr std::array kLevels = {Level::Baseline, Level::Avx2, Level::Avx512};
constexpr std::array kTypes = {DType::U8,  DType::I8,   DType::U16, DType::I16, DType::I32, DType::I64,
                               DType::F16, DType::BF16, DType::F32, DType::F64, DType::Bool};
constexpr std::array kOps = {ReduceOp::Sum, ReduceOp::Average, ReduceOp::Min, ReduceOp::Max, ReduceOp::Product};

// Elements in memory of their own, aligned for one element and no more, with a guard on either side.
class Guarded {
 public:
  Guarded(DType dtype, const Elements& elements, std::size_t skew)
      : start_((1 + skew) * size_of(dtype)), bytes_(start_ + elements.size() + 8, std::byte{0xa5}) {
    std::copy(elements.begin(), elements.end(), bytes_.begin() + static_cast<std::ptrdiff_t>(start_));
    size_ = elements.size();
  }
  std::byte* data() { return bytes_.data() + start_; }
  const std::byte* data() const { return bytes_.data() + start_; }
  bool intact() const {
    const auto is_guard = [](std::byte b) { return b == std::byte{0xa5}; };
    return std::all_of(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(start_), is_guard) &&
           std::all_of(bytes_.begin() + static_cast<std::ptrdiff_t>(start_ + size_), bytes_.end(), is_guard);
  }

 private:
  std::size_t start_, size_ = 0;
  Elements bytes_;
};

class Reduce : public testing::TestWithParam<std::tuple<DType, ReduceOp>> {
 protected:
  const DType dtype_ = std::get<0>(GetParam());
  const ReduceOp op_ = std::get<1>(GetParam());
  std::mt19937_64 random_{static_cast<unsigned>(size_of(dtype_))};

  std::vector<Elements> random_inputs(std::size_t number, std::size_t count) {
    std::vector<Elements> inputs;
    for (std::size_t i = 0; i < number; ++i) inputs.push_back(random_elements(dtype_, count, random_));
    return inputs;
  }

  // Reduces copies of `inputs`, into memory apart or, when `alias` is one, into that input.
  void expect_reduced(const std::vector<Elements>& inputs, const Elements& expected, double scale, Level level,
                      std::size_t alias) const {
    std::vector<Guarded> copies;
    for (std::size_t i = 0; i < inputs.size(); ++i) copies.emplace_back(dtype_, inputs[i], i % 3);
    copies.emplace_back(dtype_, Elements(expected.size()), 1);
    Guarded& out = copies[std::min(alias, inputs.size())];
    std::vector<const std::byte*> pointers;
    for (std::size_t i = 0; i < inputs.size(); ++i) pointers.push_back(copies[i].data());
    const std::size_t count = expected.size() / size_of(dtype_);
    reduce(dtype_, op_, out.data(), pointers, count, scale, level);
    EXPECT_EQ(first_difference(dtype_, out.data(), expected.data(), count), -1)
        << inputs.size() << " inputs of " << count << ", out is " << alias << ", level " << static_cast<int>(level);
    EXPECT_TRUE(out.intact());
  }
};

TEST_P(Reduce, EqualsTheReferenceOnEveryLevelAndIntoEveryInput) {
  constexpr std::size_t kApart = std::numeric_limits<std::size_t>::max();
  for (const std::size_t number : {1, 2, 3, 4, 8}) {
    for (const std::size_t count : {0, 1, 7, 63, 64, 65, 1000, 4097}) {
      const std::vector<Elements> inputs = random_inputs(number, count);
      const Elements expected = slow_reduce(dtype_, op_, inputs, 1.0);
      for (const Level level : kLevels)
        if (can_run(level)) expect_reduced(inputs, expected, 1.0, level, kApart);
      for (std::size_t alias = 0; alias < number; ++alias) expect_reduced(inputs, expected, 1.0, best_level(), alias);
    }
  }
}

TEST_P(Reduce, ScalesAndRoundsOnce) {
  for (const std::size_t number : {1, 2, 3}) {
    const std::vector<Elements> inputs = random_inputs(number, 1500);
    for (const double scale : {0.5, -0.375, 0.7}) {
      if (scale < 0 && (dtype_ == DType::U8 || dtype_ == DType::U16)) continue;
      const Elements expected = slow_reduce(dtype_, op_, inputs, scale);
      for (const Level level : kLevels)
        if (can_run(level)) expect_reduced(inputs, expected, scale, level, 0);
    }
  }
}

TEST_P(Reduce, GivesTheSameBitsHoweverTheRangeIsCut) {
  constexpr std::size_t kCount = 3000;
  const std::vector<Elements> inputs = random_inputs(3, kCount);
  const Elements expected = slow_reduce(dtype_, op_, inputs, 1.0);
  Elements out(expected.size());
  for (std::size_t done = 0; done < kCount;) {
    const std::size_t now = std::min<std::size_t>(kCount - done, random_() % 300);
    const std::size_t offset = done * size_of(dtype_);
    const std::array<const std::byte*, 3> pointers = {inputs[0].data() + offset, inputs[1].data() + offset,
                                                      inputs[2].data() + offset};
    reduce(dtype_, op_, out.data() + offset, pointers, now, 1.0);
    done += now;
  }
  EXPECT_EQ(first_difference(dtype_, out.data(), expected.data(), kCount), -1);
}

INSTANTIATE_TEST_SUITE_P(, Reduce, testing::Combine(testing::ValuesIn(kTypes), testing::ValuesIn(kOps)),
                         [](const auto& test) {
                           return std::string(name(std::get<0>(test.param))) + "_" +
                                  std::string(name(std::get<1>(test.param)));
                         });

template <class T>
std::vector<T> reduced(DType dtype, ReduceOp op, const std::vector<std::vector<T>>& inputs, double scale = 1.0) {
  std::vector<T> out(inputs[0].size());
  std::vector<const std::byte*> pointers(inputs.size());
  std::transform(inputs.begin(), inputs.end(), pointers.begin(),
                 [](const auto& input) { return reinterpret_cast<const std::byte*>(input.data()); });
  reduce(dtype, op, reinterpret_cast<std::byte*>(out.data()), pointers, out.size(), scale);
  return out;
}

TEST(ReduceValues, IntegersWrapAround) {
  using Limits = std::numeric_limits<std::int32_t>;
  EXPECT_EQ(reduced<std::int32_t>(DType::I32, ReduceOp::Sum, {{Limits::max()}, {1}})[0], Limits::min());
  EXPECT_EQ(reduced<std::uint16_t>(DType::U16, ReduceOp::Product, {{0xffff}, {0xffff}})[0], 1);
}

TEST(ReduceValues, AverageOfEqualIntegersIsThatInteger) {
  for (int ranks = 2; ranks < 300; ++ranks) {
    const std::vector<std::vector<std::int32_t>> small(static_cast<std::size_t>(ranks), {1, -7, 123'456});
    EXPECT_EQ(reduced(DType::I32, ReduceOp::Average, small, 1.0 / ranks), small[0]) << ranks;
    const std::vector<std::vector<std::int64_t>> large(static_cast<std::size_t>(ranks), {1, -7, (1LL << 54) + 1});
    EXPECT_EQ(reduced(DType::I64, ReduceOp::Average, large, 1.0 / ranks), large[0]) << ranks;
  }
}

TEST(ReduceValues, HalvesAreAddedInSinglePrecision) {
  // 2048 + 1 is 2048 in f16, and so would be every step.
  const auto f16 = [](double value) { return std::vector<std::uint16_t>{kF16Format.encode(value)}; };
  EXPECT_EQ(reduced<std::uint16_t>(DType::F16, ReduceOp::Sum, {f16(2048), f16(1), f16(1), f16(1)}), f16(2052));
  EXPECT_EQ(reduced<std::uint16_t>(DType::F16, ReduceOp::Average, {f16(60000), f16(60000)}, 0.5), f16(60000));
}

TEST(ReduceValues, NaNSpreadsAndTheFirstOfEqualsStays) {
  const float nan = std::nanf("");
  for (const ReduceOp op : kOps) {
    const auto out = reduced<float>(DType::F32, op, {{nan, 1, 1}, {1, nan, 1}, {1, 1, nan}});
    EXPECT_TRUE(std::all_of(out.begin(), out.end(), [](float x) { return std::isnan(x); })) << name(op);
  }
  for (const ReduceOp op : {ReduceOp::Min, ReduceOp::Max}) {
    EXPECT_TRUE(std::signbit(reduced<float>(DType::F32, op, {{-0.0f}, {0.0f}, {0.0f}})[0])) << name(op);
    EXPECT_FALSE(std::signbit(reduced<float>(DType::F32, op, {{0.0f}, {-0.0f}, {-0.0f}})[0])) << name(op);
  }
}

}  // namespace
}  // namespace ronde::comm::math
