#include "ronde/tune/samplers/linear.h"

#include <gtest/gtest.h>

#include "ronde/base/math/random.h"

namespace ronde::tune {
namespace {

// A^T A of random numbers, and something on the diagonal.
Matrix positive(std::size_t n) {
  Random random(7);
  Matrix a(n), product(n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) a(i, j) = random.uniform_double() - 0.5;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t k = 0; k < n; ++k) product(i, j) += a(k, i) * a(k, j);
      product(i, j) += i == j ? 0.1 : 0;
    }
  return product;
}

TEST(Linear, FactorsSolvesAndInverts) {
  const std::size_t n = 7;
  const Matrix a = positive(n);
  const auto lower = cholesky(a);
  ASSERT_TRUE(lower);
  const Matrix inverse = inverse_from(*lower);
  const std::vector<double> b{1, 2, 3, 4, 5, 6, 7}, x = solve_upper(*lower, solve_lower(*lower, b));
  for (std::size_t i = 0; i < n; ++i) {
    double back = 0;
    for (std::size_t j = 0; j < n; ++j) {
      back += a(i, j) * x[j];
      double one = 0;
      for (std::size_t k = 0; k < n; ++k) one += a(i, k) * inverse(k, j);
      EXPECT_NEAR(one, i == j, 1e-10);
    }
    EXPECT_NEAR(back, b[i], 1e-9);
  }
  Matrix negative = Matrix::identity(2);
  negative(1, 1) = -1;
  EXPECT_FALSE(cholesky(negative));
}

TEST(Linear, EigenvectorsMakeTheMatrixAgain) {
  const std::size_t n = 6;
  const Matrix a = positive(n);
  const Eigen eigen = symmetric_eigen(a);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      double sum = 0, product = 0;
      for (std::size_t k = 0; k < n; ++k) {
        sum += eigen.vectors(i, k) * eigen.values[k] * eigen.vectors(j, k);
        product += eigen.vectors(k, i) * eigen.vectors(k, j);
      }
      EXPECT_NEAR(sum, a(i, j), 1e-10);
      EXPECT_NEAR(product, i == j, 1e-10);
    }
}

}  // namespace
}  // namespace ronde::tune
