#include "ronde/data/augment/mixup.h"

#include <cmath>
#include <numbers>

#include "ronde/base/error.h"
#include "ronde/data/order/random.h"
#include "ronde/data/picture/bf16.h"

namespace ronde::data {
namespace {

double uniform(Random& random) {  // 0 < u < 1
  return (static_cast<double>(random.next() >> 11) + 0.5) * 0x1p-53;
}

double normal(Random& random) {
  const double radius = std::sqrt(-2 * std::log(uniform(random)));
  return radius * std::cos(2 * std::numbers::pi * uniform(random));
}

// The logarithm of a number from Gamma(alpha), by Marsaglia and Tsang's way: numbers of a small alpha are too small.
double log_gamma_number(Random& random, double alpha) {
  if (alpha < 1) return log_gamma_number(random, alpha + 1) + std::log(uniform(random)) / alpha;
  const double d = alpha - 1.0 / 3.0, c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = normal(random), root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    if (std::log(uniform(random)) < 0.5 * x * x + d - d * v + d * std::log(v)) return std::log(d * v);
  }
}

void require_as_many(std::size_t into, std::size_t other) {
  if (into != other)
    throw Error(Error::Kind::Bug, fmt::format("mixup: arrays differ in size, {} and {} numbers", into, other));
}

constexpr std::uint64_t kPurpose = 0x6d69787570;  // apart from what decoders draw for the same numbers

}  // namespace

double mixup_share(std::uint64_t seed, std::int64_t epoch, std::int64_t pair, double alpha) {
  Random random(seed ^ kPurpose, static_cast<std::uint64_t>(epoch), static_cast<std::uint64_t>(pair));
  const double a = log_gamma_number(random, alpha), b = log_gamma_number(random, alpha);
  return 1 / (1 + std::exp(b - a));
}

void mix(std::span<float> into, std::span<const float> other, float share) {
  require_as_many(into.size(), other.size());
  const float rest = 1 - share;
  float* a = into.data();
  const float* b = other.data();
  for (std::size_t i = 0; i < into.size(); ++i) a[i] = share * a[i] + rest * b[i];
}

void mix(std::span<Bf16> into, std::span<const Bf16> other, float share) {
  require_as_many(into.size(), other.size());
  const float rest = 1 - share;
  for (std::size_t i = 0; i < into.size(); ++i)
    into[i] = picture::to_bf16(share * picture::to_float(into[i]) + rest * picture::to_float(other[i]));
}

}  // namespace ronde::data
