#include "ronde/tune/samplers/sobol.h"

#include <set>

#include <gtest/gtest.h>

namespace ronde::tune {
namespace {

TEST(SobolPoint, IsThatOfJoeAndKuo) {
  EXPECT_EQ(sobol_point(0, 3), (std::vector<double>{0, 0, 0}));
  EXPECT_EQ(sobol_point(1, 3), (std::vector<double>{0.5, 0.5, 0.5}));
  EXPECT_EQ(sobol_point(2, 3), (std::vector<double>{0.75, 0.25, 0.25}));
  EXPECT_EQ(sobol_point(3, 3), (std::vector<double>{0.25, 0.75, 0.75}));
  EXPECT_EQ(sobol_point(4, 3), (std::vector<double>{0.375, 0.375, 0.625}));
  EXPECT_EQ(sobol_point(5, 3), (std::vector<double>{0.875, 0.875, 0.125}));
}

TEST(SobolPoint, EachDimensionHasEachCellOnce) {
  constexpr std::uint32_t kPoints = 256;
  for (std::size_t d = 0; d < kSobolDimensions; ++d) {
    std::set<int> cells;
    for (std::uint32_t i = 0; i < kPoints; ++i)
      cells.insert(static_cast<int>(sobol_point(i, kSobolDimensions)[d] * kPoints));
    EXPECT_EQ(cells.size(), kPoints) << d;
  }
}

TEST(SobolPoint, NoTwoDimensionsAreTheSame) {
  for (std::size_t a = 0; a < kSobolDimensions; ++a)
    for (std::size_t b = 0; b < a; ++b) {
      bool differ = false;
      for (std::uint32_t i = 0; i < 256; ++i) {
        const auto point = sobol_point(i, kSobolDimensions);
        differ = differ || point[a] != point[b];
      }
      EXPECT_TRUE(differ) << a << " and " << b;
    }
}

}  // namespace
}  // namespace ronde::tune
