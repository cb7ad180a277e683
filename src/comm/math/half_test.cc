#include "ronde/comm/math/half.h"

#include <bit>
#include <cmath>

#include <gtest/gtest.h>

#include "ronde/comm/math/half_reference.h"

namespace ronde::comm::math {
namespace {

struct Fast {
  const char* name;
  HalfFormat format;
  float (*widen)(std::uint16_t);
  std::uint16_t (*narrow)(float);
};

class Half : public testing::TestWithParam<Fast> {
 protected:
  bool is_nan(std::uint16_t bits) const { return (bits & 0x7fff) > GetParam().format.infinity(); }

  // Compares quietly, since a million EXPECTs take seconds.
  template <class T>
  void expect_nearest(T value, std::uint16_t fast) const {
    const std::uint16_t slow = GetParam().format.encode(value);
    const bool same = is_nan(slow) ? is_nan(fast) && (fast & 0x8000) == (slow & 0x8000) : fast == slow;
    if (!same) ADD_FAILURE() << value << " became " << fast << ", should be " << slow;
  }
};

TEST_P(Half, WidensEveryPattern) {
  for (int pattern = 0; pattern < 65536; ++pattern) {
    const auto bits = static_cast<std::uint16_t>(pattern);
    const double slow = GetParam().format.decode(bits);
    const double fast = GetParam().widen(bits);
    const bool same = std::isnan(slow) ? std::isnan(fast) : slow == fast;
    if (!same || std::signbit(slow) != std::signbit(fast)) ADD_FAILURE() << pattern << ": " << fast << ", not " << slow;
  }
}

TEST_P(Half, NarrowsBackEveryPattern) {
  for (int pattern = 0; pattern < 65536; ++pattern) {
    const auto bits = static_cast<std::uint16_t>(pattern);
    const std::uint16_t back = GetParam().narrow(GetParam().widen(bits));
    if (is_nan(bits) ? !is_nan(back) : back != bits) ADD_FAILURE() << pattern << " became " << back;
  }
}

TEST_P(Half, RoundsFloatsToNearestEven) {
  for (const float value : awkward_floats()) expect_nearest(value, GetParam().narrow(value));
}

TEST_P(Half, RoundsDoublesOnce) {
  for (const double value : awkward_doubles()) expect_nearest(value, GetParam().narrow(narrow_to_odd(value)));
}

TEST_P(Half, RoundsDoublesBesideEveryTieOnce) {
  // A pattern and a half, and the two doubles next to it: as f32 all three are the tie.
  for (int pattern = 0; pattern < GetParam().format.infinity(); ++pattern) {
    const double tie = (GetParam().format.magnitude(pattern) + GetParam().format.magnitude(pattern + 1)) / 2;
    for (const double value : {tie, std::nextafter(tie, 0.0), -std::nextafter(tie, 1e300)})
      expect_nearest(value, GetParam().narrow(narrow_to_odd(value)));
  }
}

INSTANTIATE_TEST_SUITE_P(, Half,
                         testing::Values(Fast{"f16", kF16Format, widen_f16, narrow_f16},
                                         Fast{"bf16", kBF16Format, widen_bf16, narrow_bf16}),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace ronde::comm::math
