#include "ronde/bench/trace/trace_pairs.h"

#include <string>

#include <gtest/gtest.h>

namespace ronde::bench::detail {
namespace {

// A machine that grows slower all the time: each call takes as much longer. The ratio of pairs does not see it.
TEST(TracePairs, WhatSlowsBothDoesNotCount) {
  double slowness = 1;
  std::string order;
  const auto call = [&](char who, double time) {
    order += who;
    if (order.size() % 2 == 0) slowness *= 1.5;  // from pair to pair
    return time * slowness / (order.size() % 2 == 0 ? 1.5 : 1);
  };
  const TracePairs pairs = take_pairs(5, [&] { return call('p', 100); }, [&] { return call('r', 103); });
  EXPECT_EQ(order, "prrpprrppr") << "who begins changes";
  EXPECT_NEAR(pairs.ratio, 1.03, 1e-9);
  EXPECT_NEAR(pairs.recorded_us / pairs.plain_us, 1.03, 1e-9);
}

TEST(TracePairs, OnePairThatWasDisturbedDoesNotCount) {
  int calls = 0;
  const TracePairs pairs = take_pairs(5, [&] { return 100.0; }, [&] { return ++calls == 3 ? 900.0 : 101.0; });
  EXPECT_NEAR(pairs.ratio, 1.01, 1e-9);
}

TEST(TracePairs, ATurnHasAsManyRoundsAsItsTimeAllows) {
  EXPECT_EQ(rounds_for(10'000, 400'000), 40);
  EXPECT_EQ(rounds_for(1e9, 400'000), 1);
  EXPECT_EQ(rounds_for(0, 400'000), 1000);
}

}  // namespace
}  // namespace ronde::bench::detail
