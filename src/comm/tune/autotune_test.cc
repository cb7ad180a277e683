#include "ronde/comm/tune/autotune.h"

#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "ronde/base/text/format.h"

namespace ronde::comm::detail {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr Tuning kDefaults{.limits = {.bytes = 64 * kMiB, .first_bytes = kMiB}};

// Microseconds a step with a tuning, before noise.
using Cost = std::function<double(const Tuning&)>;

// A share of noise on every step, and now and then one that takes several times as long.
class Noise {
 public:
  Noise(unsigned seed, double share) : random_(seed), share_(share) {}
  double operator()(double us) {
    us *= 1 + share_ * normal_(random_);
    return random_() % 25 == 0 ? us * 3 : us;
  }

 private:
  std::mt19937 random_;
  std::normal_distribution<double> normal_;
  double share_;
};

Autotune search(const AutotuneOptions& options, const Cost& cost, Noise noise) {
  Autotune tune(options);
  while (!tune.done() && tune.steps() < 20'000) tune.step(noise(cost(tune.current())));
  EXPECT_TRUE(tune.done()) << "it goes on for ever";
  return tune;
}

// The best of all that a grid finer than the search's own has.
double least(const AutotuneOptions& options, const Cost& cost) {
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t bytes = kMiB / 4; bytes <= 256 * kMiB; bytes *= 2)
    for (std::size_t first = kMiB / 16; first <= std::min(16 * kMiB, bytes); first *= 2)
      for (std::size_t algorithm = 0; algorithm < options.algorithms; ++algorithm)
        least = std::min(least, cost({.limits = {.bytes = bytes, .first_bytes = first}, .algorithm = algorithm}));
  return least;
}

double octaves(std::size_t a, std::size_t b) {
  return std::log2(static_cast<double>(a) / static_cast<double>(b));
}

struct Case {
  const char* name;
  AutotuneOptions options;
  Cost cost;
};

const std::vector<Case>& cases() {
  const AutotuneOptions large{.defaults = kDefaults, .step_bytes = 400 * kMiB};
  const AutotuneOptions four{.defaults = kDefaults, .step_bytes = 400 * kMiB, .algorithms = 4};
  static const std::vector<Case> all{
      {"the defaults are best", large,
       [](const Tuning& t) { return 10'000 + 300 * std::abs(octaves(t.limits.bytes, 64 * kMiB)); }},
      {"nothing matters", large, [](const Tuning&) { return 5'000.0; }},
      {"small buckets overlap better", large,
       [](const Tuning& t) { return 20'000 + 400 * std::pow(octaves(t.limits.bytes, 4 * kMiB), 2); }},
      {"between the points of the grid", large,
       [](const Tuning& t) { return 20'000 + 900 * std::pow(octaves(t.limits.bytes, 8 * kMiB), 2); }},
      {"an early start counts", large,
       [](const Tuning& t) { return 8'000 + 250 * std::abs(octaves(t.limits.first_bytes, kMiB / 4)); }},
      {"both", large,
       [](const Tuning& t) {
         return 30'000 + 700 * std::abs(octaves(t.limits.bytes, 16 * kMiB)) +
                500 * std::abs(octaves(t.limits.first_bytes, 4 * kMiB));
       }},
      {"another algorithm", four,
       [](const Tuning& t) {
         return 3'000 + (t.algorithm == 2 ? 0 : 900) + 100 * std::abs(octaves(t.limits.bytes, 16 * kMiB));
       }},
      {"a cliff", large, [](const Tuning& t) { return t.limits.bytes > 32 * kMiB ? 50'000.0 : 42'000.0; }},
      {"long steps", large, [](const Tuning& t) { return 2e6 + 5e4 * std::abs(octaves(t.limits.bytes, 16 * kMiB)); }},
  };
  return all;
}

TEST(Autotune, EndsNearTheBestOrAtTheDefaultsAndNeverSlower) {
  for (const Case& one : cases())
    for (unsigned seed = 0; seed < 10; ++seed) {
      const Autotune tune = search(one.options, one.cost, Noise(seed, 0.01));
      const std::string where =
          fmt::format("{}, seed {}: {} bytes, first {}, algorithm {}", one.name, seed, tune.current().limits.bytes,
                      tune.current().limits.first_bytes, tune.current().algorithm);
      const double us = one.cost(tune.current()), defaults = one.cost(kDefaults);
      EXPECT_LE(us, defaults * 1.02) << where;
      EXPECT_TRUE(tune.keeps_defaults() || us <= least(one.options, one.cost) * 1.02) << where;
      EXPECT_LT(tune.steps(), defaults > 15'000 ? 220u : 1500u) << where;
    }
}

TEST(Autotune, AGainThatIsThereIsFound) {
  for (const Case& one : cases()) {
    const double defaults = one.cost(kDefaults), best = least(one.options, one.cost);
    if (best > 0.93 * defaults) continue;
    for (unsigned seed = 0; seed < 10; ++seed) {
      const Autotune tune = search(one.options, one.cost, Noise(seed, 0.01));
      EXPECT_FALSE(tune.keeps_defaults()) << one.name << ", seed " << seed;
      EXPECT_LT(tune.chosen_us(), tune.default_us() * 0.98);
    }
  }
}

// A machine so noisy that tries say little: chance must not make it slower.
TEST(Autotune, NoiseDoesNotWin) {
  const auto& best_as_it_is = cases().front();
  for (unsigned seed = 0; seed < 50; ++seed) {
    const Autotune tune = search(best_as_it_is.options, best_as_it_is.cost, Noise(seed, 0.05));
    EXPECT_LE(best_as_it_is.cost(tune.current()), best_as_it_is.cost(kDefaults) * 1.02) << seed;
  }
}

TEST(Autotune, WithoutNoiseEqualTimesKeepTheDefaults) {
  const Autotune tune =
      search({.defaults = kDefaults, .step_bytes = 100 * kMiB}, [](const Tuning&) { return 1e5; }, Noise(1, 0.0));
  EXPECT_TRUE(tune.keeps_defaults());
  EXPECT_EQ(tune.chosen_us(), tune.default_us());
}

// A step that fits into any bucket has one knob less, and no try is wasted on it.
TEST(Autotune, WhatMakesTheSameBucketsIsTriedOnce) {
  const Autotune tune =
      search({.defaults = kDefaults, .step_bytes = 100'000}, [](const Tuning&) { return 1e5; }, Noise(1, 0.0));
  EXPECT_LE(tune.tries().size(), 3u);
  const Autotune large =
      search({.defaults = kDefaults, .step_bytes = 2 * kMiB}, [](const Tuning&) { return 1e5; }, Noise(1, 0.0));
  std::set<std::pair<std::size_t, std::size_t>> seen;
  for (const auto& [tuning, us] : large.tries()) {
    const auto effective =
        std::pair(std::min(tuning.limits.bytes, 2 * kMiB), std::min(tuning.limits.first_bytes, 2 * kMiB));
    EXPECT_TRUE(seen.insert(effective).second) << tuning.limits.bytes << ", first " << tuning.limits.first_bytes;
  }
}

TEST(Autotune, DefaultsOffTheGridAreInTheSearch) {
  const Tuning odd{.limits = {.bytes = 23 * kMiB, .first_bytes = 3 * kMiB}};
  const Cost cost = [&](const Tuning& t) { return 1e5 * (1 + std::abs(octaves(t.limits.bytes, 23 * kMiB))); };
  const Autotune tune = search({.defaults = odd, .step_bytes = 400 * kMiB}, cost, Noise(3, 0.01));
  EXPECT_TRUE(tune.keeps_defaults());
}

}  // namespace
}  // namespace ronde::comm::detail
