#include "ronde/data/augment/mixup.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "ronde/data/picture/bf16.h"

namespace ronde::data {
namespace {

TEST(Mixup, SharesAreBeta) {
  constexpr int kDraws = 4000;
  for (const double alpha : {0.01, 0.2, 1.0, 5.0}) {
    double sum = 0, squares = 0;
    for (int i = 0; i < kDraws; ++i) {
      const double share = mixup_share(1, 2, i, alpha);
      ASSERT_GE(share, 0);
      ASSERT_LE(share, 1);
      sum += share;
      squares += (share - 0.5) * (share - 0.5);
    }
    EXPECT_NEAR(sum / kDraws, 0.5, 0.03);
    EXPECT_NEAR(squares / kDraws, 1 / (4 * (2 * alpha + 1)), 0.012) << alpha;
  }
  EXPECT_EQ(mixup_share(1, 2, 3, 0.2), mixup_share(1, 2, 3, 0.2));
  EXPECT_NE(mixup_share(1, 2, 3, 0.2), mixup_share(1, 3, 3, 0.2));
}

TEST(Mixup, MixesBothTypes) {
  std::vector<float> a = {0, 1, -2, 3.5f}, b = {4, 1, 2, 0};
  std::vector<Bf16> a16, b16;
  for (const float value : a) a16.push_back(picture::to_bf16(value));
  for (const float value : b) b16.push_back(picture::to_bf16(value));
  mix(std::span(a), b, 0.25f);
  EXPECT_EQ(a, (std::vector<float>{3, 1, 1, 0.875f}));
  mix(std::span(a16), b16, 0.25f);
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_EQ(picture::to_float(a16[i]), a[i]);
  EXPECT_THROW(mix(std::span(a), std::span(b).first(2), 0.5f), std::exception);
}

}  // namespace
}  // namespace ronde::data
