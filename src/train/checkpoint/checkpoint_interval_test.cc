#include "ronde/train/checkpoint/checkpoint_interval.h"

#include <cmath>

#include <gtest/gtest.h>

namespace ronde::train {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using Seconds = std::chrono::duration<double>;

double seconds(nanoseconds time) {
  return Seconds(time).count();
}

// Young's first order, sqrt(2 cost mtbf), is what is left when a checkpoint costs little.
TEST(BestInterval, IsYoungsForCheapCheckpoints) {
  EXPECT_NEAR(seconds(best_interval(1s, 720h)), std::sqrt(2 * 1.0 * 720 * 3600), 1);
  EXPECT_NEAR(seconds(best_interval(20ms, 24h)), std::sqrt(2 * 0.02 * 24 * 3600), 0.1);
}

// Daly's formula by hand, for a checkpoint of 5 min and a failure every 6 h:
// sqrt(2 * 300 * 21600) = 3600; 300 / 43200 has the root 1/12; 3600 * (1 + 1/36 + 1/1296) - 300 = 3402.777...
TEST(BestInterval, IsDalysForDearOnes) {
  EXPECT_NEAR(seconds(best_interval(5min, 6h)), 3402.7778, 1e-3);
}

// Where a checkpoint costs more than two times between failures there is no good interval; Daly takes the mean time.
TEST(BestInterval, IsTheMeanTimeWhereNothingHelps) {
  EXPECT_EQ(best_interval(2h, 1h), 1h);
  EXPECT_EQ(best_interval(10h, 1h), 1h);
}

// The model that both approximate: with failures by chance, work in pieces of t takes
// (exp((t + cost) / mtbf) - 1) / t times a constant. The least of that is found here by trying.
TEST(BestInterval, LosesLeast) {
  const auto loss = [](double t, double cost, double mtbf) { return std::expm1((t + cost) / mtbf) / t; };
  for (const auto& [cost, mtbf] : {std::pair{nanoseconds(1s), nanoseconds(1h)}, {10s, 24h}, {60s, 2h}, {5min, 6h}}) {
    double best = 1;
    for (double t = 1; t < 2 * seconds(mtbf); t *= 1.0005)
      if (loss(t, seconds(cost), seconds(mtbf)) < loss(best, seconds(cost), seconds(mtbf))) best = t;
    EXPECT_NEAR(seconds(best_interval(cost, mtbf)) / best, 1, 0.005) << seconds(cost);
  }
}

TEST(ChosenInterval, ShrinksWithTheNodesAndNeverBelowTheTimeOfWriting) {
  const CheckpointCost cost{.lost = 1s, .total = 30s};
  const double one = seconds(chosen_interval(cost, 720h, 1)), hundred = seconds(chosen_interval(cost, 720h, 100));
  EXPECT_NEAR(one / hundred, 10, 0.1);
  EXPECT_EQ(chosen_interval({.lost = 1ms, .total = 30s}, 24h, 100), 30s);
}

TEST(ChosenInterval, SaysWhy) {
  EXPECT_EQ(interval_sentence({.lost = 5min, .total = 5min}, 24h, 4),
            "checkpoint every 56 min 43 s (auto): each costs 5 min 0 s and is written after 5 min 0 s; a failure is "
            "expected every 6 h 0 min on 4 nodes (checkpoint.mtbf)");
}

TEST(GuessedTime, GrowsWithTheBytes) {
  EXPECT_EQ(guessed_time(0), 1s);
  EXPECT_EQ(guessed_time(1'000'000'000), 21s);
}

}  // namespace
}  // namespace ronde::train
