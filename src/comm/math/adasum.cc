#include "ronde/comm/math/adasum.h"

#include <algorithm>
#include <array>

#include "ronde/base/error.h"
#include "ronde/comm/math/reduce_compiled.h"

namespace ronde::comm::math {
namespace {

constexpr std::size_t kLanes = 8;  // sums that go side by side: fixed, so that the bits do not depend on the processor

template <class T>
struct Multiply {
  template <Level>
  [[gnu::always_inline]] static void run(const std::byte* left, const std::byte* right, std::size_t count,
                                         Products* out) {
    const auto* const a = reinterpret_cast<const T*>(left);
    const auto* const b = reinterpret_cast<const T*>(right);
    std::array<double, kLanes> ab{}, aa{}, bb{};
    std::size_t i = 0;
    for (; i + kLanes <= count; i += kLanes)
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        const double x = a[i + lane], y = b[i + lane];
        ab[lane] += x * y;
        aa[lane] += x * x;
        bb[lane] += y * y;
      }
    for (std::size_t lane = 0; i < count; ++i, ++lane) {
      const double x = a[i], y = b[i];
      ab[lane] += x * y;
      aa[lane] += x * x;
      bb[lane] += y * y;
    }
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      out->ab += ab[lane];
      out->aa += aa[lane];
      out->bb += bb[lane];
    }
  }
};

template <class T>
struct Add {
  template <Level>
  [[gnu::always_inline]] static void run(std::byte* left, const std::byte* right, std::size_t count, double of_a,
                                         double of_b) {
    auto* const a = reinterpret_cast<T*>(left);
    const auto* const b = reinterpret_cast<const T*>(right);
    for (std::size_t i = 0; i < count; ++i) {
      const double x = a[i], y = b[i];
      a[i] = static_cast<T>(of_a * x + of_b * y);
    }
  }
};

template <class T>
constexpr auto kMultiply = compiled<Multiply<T>, const std::byte*, const std::byte*, std::size_t, Products*>;
template <class T>
constexpr auto kAdd = compiled<Add<T>, std::byte*, const std::byte*, std::size_t, double, double>;

void check_type(DType dtype) {
  if (dtype != DType::F32 && dtype != DType::F64)
    throw Error(Error::Kind::Bug, fmt::format("adasum computes in f32 and f64, not in {}", name(dtype)));
}

double coefficient(double ab, double own) {
  return own == 0 ? 1.0 : 1.0 - ab / (2 * own);
}

}  // namespace

Products multiply(DType dtype, const std::byte* a, const std::byte* b, std::size_t count, Level level) {
  check_type(dtype);
  Products products;
  at(dtype == DType::F32 ? kMultiply<float> : kMultiply<double>, level)(a, b, count, &products);
  return products;
}

void add_adaptively(DType dtype, std::byte* a, const std::byte* b, std::size_t count, const Products& products,
                    Level level) {
  check_type(dtype);
  at(dtype == DType::F32 ? kAdd<float> : kAdd<double>, level)(a, b, count, coefficient(products.ab, products.aa),
                                                              coefficient(products.ab, products.bb));
}

std::vector<std::vector<AdasumPiece>> adasum_shares(std::span<const std::size_t> lengths, int members) {
  const auto parts = static_cast<std::size_t>(members);
  const auto is_cut = [parts](std::size_t length) { return parts > 1 && length >= kLeastCut * parts; };
  std::size_t whole = 0, given = 0;  // elements of vectors that stay whole: of all, and of those before
  for (const std::size_t length : lengths) whole += is_cut(length) ? 0 : length;
  std::vector<std::vector<AdasumPiece>> shares(parts);
  for (std::size_t vector = 0; vector < lengths.size(); ++vector) {
    const std::size_t length = lengths[vector];
    if (length == 0) continue;
    if (!is_cut(length)) {
      shares[given * parts / whole].push_back({.vector = vector, .begin = 0, .count = length});
      given += length;
      continue;
    }
    for (std::size_t part = 0, begin = 0; part < parts; ++part) {
      const std::size_t count = length / parts + (part < length % parts ? 1 : 0);
      shares[part].push_back({.vector = vector, .begin = begin, .count = count, .cut = true});
      begin += count;
    }
  }
  return shares;
}

}  // namespace ronde::comm::math
