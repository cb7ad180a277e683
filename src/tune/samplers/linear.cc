#include "ronde/tune/samplers/linear.h"

#include <cmath>

namespace ronde::tune {

std::optional<Matrix> cholesky(const Matrix& symmetric) {
  const std::size_t n = symmetric.size();
  Matrix lower(n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = symmetric(i, j);
      for (std::size_t k = 0; k < j; ++k) sum -= lower(i, k) * lower(j, k);
      if (i == j && !(sum > 0)) return {};
      lower(i, j) = i == j ? std::sqrt(sum) : sum / lower(j, j);
    }
  return lower;
}

std::vector<double> solve_lower(const Matrix& lower, std::vector<double> b) {
  for (std::size_t i = 0; i < b.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) b[i] -= lower(i, k) * b[k];
    b[i] /= lower(i, i);
  }
  return b;
}

std::vector<double> solve_upper(const Matrix& lower, std::vector<double> b) {
  for (std::size_t i = b.size(); i-- > 0;) {
    b[i] /= lower(i, i);
    for (std::size_t k = 0; k < i; ++k) b[k] -= lower(i, k) * b[i];
  }
  return b;
}

Matrix inverse_from(const Matrix& lower) {
  const std::size_t n = lower.size();
  Matrix half(n);  // the inverse of L, transposed: its rows are read in order
  for (std::size_t j = 0; j < n; ++j) {
    half(j, j) = 1 / lower(j, j);
    for (std::size_t i = j + 1; i < n; ++i) {
      double sum = 0;
      for (std::size_t k = j; k < i; ++k) sum -= lower(i, k) * half(j, k);
      half(j, i) = sum / lower(i, i);
    }
  }
  Matrix inverse(n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = 0;
      for (std::size_t k = i; k < n; ++k) sum += half(i, k) * half(j, k);
      inverse(i, j) = inverse(j, i) = sum;
    }
  return inverse;
}

namespace {

// Makes matrix(p, q) zero.
void rotate(Matrix& matrix, Matrix& vectors, std::size_t p, std::size_t q) {
  const double theta = (matrix(q, q) - matrix(p, p)) / (2 * matrix(p, q));
  const double t = (theta >= 0 ? 1 : -1) / (std::abs(theta) + std::sqrt(theta * theta + 1));
  const double c = 1 / std::sqrt(t * t + 1), s = t * c;
  for (std::size_t k = 0; k < matrix.size(); ++k) {
    const double a = matrix(k, p), b = matrix(k, q);
    matrix(k, p) = c * a - s * b;
    matrix(k, q) = s * a + c * b;
  }
  for (std::size_t k = 0; k < matrix.size(); ++k) {
    const double a = matrix(p, k), b = matrix(q, k);
    matrix(p, k) = c * a - s * b;
    matrix(q, k) = s * a + c * b;
    const double v = vectors(k, p), w = vectors(k, q);
    vectors(k, p) = c * v - s * w;
    vectors(k, q) = s * v + c * w;
  }
}

}  // namespace

Eigen symmetric_eigen(Matrix matrix) {
  constexpr int kSweeps = 50;
  const std::size_t n = matrix.size();
  Matrix vectors = Matrix::identity(n);
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    double off = 0, all = 0;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) (i == j ? all : off) += matrix(i, j) * matrix(i, j);
    if (off <= 1e-28 * all) break;
    for (std::size_t p = 0; p < n; ++p)
      for (std::size_t q = p + 1; q < n; ++q)
        if (matrix(p, q) != 0) rotate(matrix, vectors, p, q);
  }
  Eigen result{.values = std::vector<double>(n), .vectors = std::move(vectors)};
  for (std::size_t i = 0; i < n; ++i) result.values[i] = matrix(i, i);
  return result;
}

}  // namespace ronde::tune
