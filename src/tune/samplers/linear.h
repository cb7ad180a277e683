#pragma once

#include <cstddef>
#include <optional>
#include <vector>

// Small dense matrices, for samplers.
namespace ronde::tune {

// Square, by rows. A plain value.
class Matrix {
 public:
  explicit Matrix(std::size_t size = 0) : size_(size), values_(size * size) {}
  static Matrix identity(std::size_t size) {
    Matrix one(size);
    for (std::size_t i = 0; i < size; ++i) one(i, i) = 1;
    return one;
  }

  double& operator()(std::size_t row, std::size_t column) { return values_[row * size_ + column]; }
  double operator()(std::size_t row, std::size_t column) const { return values_[row * size_ + column]; }
  std::size_t size() const { return size_; }

 private:
  std::size_t size_;
  std::vector<double> values_;
};

// The lower factor L of a symmetric matrix, L L^T; nothing when it is not positive definite. Reads the lower half.
std::optional<Matrix> cholesky(const Matrix& symmetric);
// x with L x = b, and with L^T x = b.
std::vector<double> solve_lower(const Matrix& lower, std::vector<double> b);
std::vector<double> solve_upper(const Matrix& lower, std::vector<double> b);
// The inverse of L L^T.
Matrix inverse_from(const Matrix& lower);

// Eigenvalues of a symmetric matrix, and its eigenvectors as columns, by Jacobi's rotations.
struct Eigen {
  std::vector<double> values;
  Matrix vectors;
};
Eigen symmetric_eigen(Matrix symmetric);

}  // namespace ronde::tune
