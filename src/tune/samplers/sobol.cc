#include "ronde/tune/samplers/sobol.h"

#include <array>
#include <cmath>

namespace ronde::tune {
namespace {

constexpr int kBits = 32;

// A primitive polynomial over GF(2): its degree, the coefficients between the first and the last, and where its
// sequence of direction numbers begins.
struct Polynomial {
  int degree;
  std::uint32_t coefficients;
  std::array<std::uint32_t, 7> first;
};

// S. Joe and F. Y. Kuo, new-joe-kuo-6.21201, dimensions 2 to 21; the first dimension is van der Corput's.
constexpr auto kPolynomials = std::to_array<Polynomial>({
    {1, 0, {1}},
    {2, 1, {1, 3}},
    {3, 1, {1, 3, 1}},
    {3, 2, {1, 1, 1}},
    {4, 1, {1, 1, 3, 3}},
    {4, 4, {1, 3, 5, 13}},
    {5, 2, {1, 1, 5, 5, 17}},
    {5, 4, {1, 1, 5, 5, 5}},
    {5, 7, {1, 1, 7, 11, 19}},
    {5, 11, {1, 1, 5, 1, 1}},
    {5, 13, {1, 1, 1, 3, 11}},
    {5, 14, {1, 3, 5, 5, 31}},
    {6, 1, {1, 3, 3, 9, 7, 49}},
    {6, 13, {1, 1, 1, 15, 21, 21}},
    {6, 16, {1, 3, 1, 13, 27, 49}},
    {6, 19, {1, 1, 1, 15, 7, 5}},
    {6, 22, {1, 3, 1, 15, 13, 25}},
    {6, 25, {1, 1, 5, 5, 19, 61}},
    {7, 1, {1, 3, 7, 11, 23, 15, 103}},
    {7, 4, {1, 3, 7, 13, 13, 15, 69}},
});
static_assert(kPolynomials.size() + 1 == kSobolDimensions);

// Direction numbers of a dimension, the highest bit first.
std::array<std::uint32_t, kBits> directions(std::size_t dimension) {
  std::array<std::uint32_t, kBits> numbers{};
  if (dimension == 0) {
    for (int i = 0; i < kBits; ++i) numbers[static_cast<std::size_t>(i)] = std::uint32_t{1} << (kBits - 1 - i);
    return numbers;
  }
  const Polynomial& polynomial = kPolynomials[dimension - 1];
  const auto degree = static_cast<std::size_t>(polynomial.degree);
  for (std::size_t i = 0; i < kBits; ++i) {
    if (i < degree) {
      numbers[i] = polynomial.first[i] << (kBits - 1 - i);
      continue;
    }
    numbers[i] = numbers[i - degree] ^ (numbers[i - degree] >> degree);
    for (std::size_t k = 1; k < degree; ++k)
      if ((polynomial.coefficients >> (degree - 1 - k) & 1) != 0) numbers[i] ^= numbers[i - k];
  }
  return numbers;
}

}  // namespace

std::vector<double> sobol_point(std::uint32_t index, std::size_t dimensions) {
  const std::uint32_t gray = index ^ (index >> 1);
  std::vector<double> point(dimensions);
  for (std::size_t d = 0; d < dimensions; ++d) {
    const auto numbers = directions(d);
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < kBits; ++i)
      if ((gray >> i & 1) != 0) bits ^= numbers[i];
    point[d] = std::ldexp(static_cast<double>(bits), -kBits);
  }
  return point;
}

}  // namespace ronde::tune
