#include "ronde/comm/math/adasum.h"

#include <cmath>
#include <cstring>
#include <random>

#include <gtest/gtest.h>

namespace ronde::comm::math {
namespace {

template <class T>
std::byte* bytes(std::vector<T>& values) {
  return reinterpret_cast<std::byte*>(values.data());
}

template <class T>
std::vector<T> adasum(DType dtype, std::vector<T> a, std::vector<T> b) {
  const Products products = multiply(dtype, bytes(a), bytes(b), a.size());
  add_adaptively(dtype, bytes(a), bytes(b), a.size(), products);
  return a;
}

TEST(Adasum, EqualVectorsGiveTheVectorAndOrthogonalOnesTheSum) {
  const std::vector<float> a{1, 2, 3, 4, -5, 6, 7, 8, 9, 10.5f};
  EXPECT_EQ(adasum(DType::F32, a, a), a);
  EXPECT_EQ(adasum(DType::F64, std::vector<double>{3, 0, 1}, std::vector<double>{0, 2, 0}),
            (std::vector<double>{3, 2, 1}));
}

TEST(Adasum, ParallelVectorsGiveTheirMean) {
  EXPECT_EQ(adasum(DType::F64, std::vector<double>{1, 2}, std::vector<double>{4, 8}), (std::vector<double>{2.5, 5}));
}

TEST(Adasum, AVectorWithoutLengthAddsNothing) {
  const std::vector<float> nothing{0, 0, 0}, some{1, -2, 3};
  EXPECT_EQ(adasum(DType::F32, nothing, some), some);
  EXPECT_EQ(adasum(DType::F32, some, nothing), some);
  EXPECT_EQ(adasum(DType::F32, nothing, nothing), nothing);
}

TEST(Adasum, EveryLevelGivesTheSameBits) {
  std::mt19937_64 random(7);
  std::normal_distribution<float> normal;
  for (const std::size_t count : {0u, 1u, 7u, 8u, 9u, 1003u}) {
    std::vector<float> a(count), b(count);
    for (std::size_t i = 0; i < count; ++i) a[i] = normal(random), b[i] = normal(random);
    const Products products = multiply(DType::F32, bytes(a), bytes(b), count, Level::Baseline);
    std::vector<float> sum = a;
    add_adaptively(DType::F32, bytes(sum), bytes(b), count, products, Level::Baseline);
    double slow = 0;
    for (std::size_t i = 0; i < count; ++i) slow += static_cast<double>(a[i]) * static_cast<double>(b[i]);
    EXPECT_NEAR(products.ab, slow, 1e-10);
    for (const Level level : {Level::Avx2, Level::Avx512}) {
      if (!can_run(level)) continue;
      const Products same = multiply(DType::F32, bytes(a), bytes(b), count, level);
      EXPECT_EQ(std::memcmp(&same, &products, sizeof(same)), 0);
      std::vector<float> again = a;
      add_adaptively(DType::F32, bytes(again), bytes(b), count, products, level);
      EXPECT_EQ(again, sum);
    }
  }
}

TEST(AdasumShares, CoverEveryElementOnce) {
  const std::vector<std::size_t> lengths{0, 5, 100'003, 1, 700, 0, 2048, 300, 300, 300};
  for (int members = 1; members <= 9; ++members) {
    const auto shares = adasum_shares(lengths, members);
    ASSERT_EQ(shares.size(), static_cast<std::size_t>(members));
    std::vector<std::vector<int>> seen;
    for (const std::size_t length : lengths) seen.emplace_back(length, 0);
    for (const auto& share : shares)
      for (const AdasumPiece& piece : share)
        for (std::size_t i = 0; i < piece.count; ++i) ++seen[piece.vector].at(piece.begin + i);
    for (const auto& vector : seen) EXPECT_EQ(vector, std::vector<int>(vector.size(), 1));
  }
}

TEST(AdasumShares, LongVectorsAreCutAmongAllAndShortOnesSpread) {
  const auto shares = adasum_shares(std::vector<std::size_t>{100, 100, 1025, 100, 100}, 4);
  for (std::size_t member = 0; member < 4; ++member) {
    ASSERT_EQ(shares[member].size(), 2u) << "one of the short ones, and a piece of the long one";
    const AdasumPiece& piece = shares[member][member < 2 ? 1 : 0];
    EXPECT_EQ(piece, (AdasumPiece{2, member * 256 + (member > 0 ? 1 : 0), member == 0 ? 257u : 256u, true}));
  }
}

// What travels with a vector must not show in its result.
TEST(AdasumShares, OfALongVectorDependOnItAlone) {
  const auto alone = adasum_shares(std::vector<std::size_t>{5000}, 3);
  const auto fused = adasum_shares(std::vector<std::size_t>{17, 40'000, 5000, 12}, 3);
  for (std::size_t member = 0; member < 3; ++member) {
    AdasumPiece piece = alone[member].front();
    piece.vector = 2;
    EXPECT_NE(std::find(fused[member].begin(), fused[member].end(), piece), fused[member].end());
  }
}

}  // namespace
}  // namespace ronde::comm::math
