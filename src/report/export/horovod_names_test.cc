#include "ronde/report/export/horovod_names.h"

#include <gtest/gtest.h>

namespace ronde::report::exporting {
namespace {

using Spans = std::vector<TimelineSpan>;

TEST(HorovodNames, OfOperations) {
  EXPECT_EQ(horovod_operation("allreduce"), "ALLREDUCE");
  EXPECT_EQ(horovod_operation("reduce_scatter"), "REDUCESCATTER");
}

TEST(HorovodNames, RoundsAreNamedAfterTheCollectiveThatCameOfThem) {
  Negotiations rounds;
  rounds.agreed({100, 180, "wait for ready"});
  rounds.agreed({180, 200, "negotiate"});
  rounds.moved({.name = "allgather", .begin = 200, .arrival = 180});
  const auto named = rounds.take_all();
  EXPECT_EQ(named.agree, (Spans{{100, 180, "WAIT_FOR_DATA"}, {180, 200, "NEGOTIATE_ALLGATHER"}}));
  EXPECT_TRUE(named.queue.empty()) << "it began at once";
  EXPECT_EQ(named.cycles, (std::vector<std::int64_t>{180}));
}

TEST(HorovodNames, ARoundThatEndsWhileTheOneBeforeMovesWaitsInTheQueue) {
  for (const bool arrivals : {true, false}) {  // old files do not tell when requests came
    const auto at = [&](std::int64_t time) { return arrivals ? std::optional(time) : std::nullopt; };
    Negotiations rounds;
    rounds.moved({.name = "broadcast", .begin = 100, .end = 200, .arrival = at(25), .requests = 2});  // in any order
    rounds.agreed({31, 40, "vote"});
    rounds.agreed({10, 20, "vote"});
    rounds.moved({.name = "allreduce", .begin = 20, .end = 100, .arrival = at(10), .requests = 4});
    rounds.agreed({25, 30, "vote"});
    rounds.agreed({21, 25, "wait for ready"});
    rounds.moved({.name = "allreduce", .begin = 200, .end = 300, .arrival = at(31)});
    const auto named = rounds.take_all();
    EXPECT_EQ(named.agree, (Spans{{10, 20, "NEGOTIATE_ALLREDUCE"},
                                  {21, 25, "WAIT_FOR_OTHER_TENSOR_DATA"},
                                  {25, 30, "NEGOTIATE_BROADCAST"},
                                  {31, 40, "NEGOTIATE_ALLREDUCE"}}));
    EXPECT_EQ(named.queue, (Spans{{30, 100, "QUEUE"}, {100, 200, "QUEUE"}}))
        << "two in the queue are shown one after the other";
  }
}

TEST(HorovodNames, RoundsThatCameToNothingCountForTheNext) {
  Negotiations rounds;
  rounds.agreed({10, 20, "vote"});
  rounds.agreed({30, 50, "negotiate"});
  rounds.moved({.name = "allreduce", .begin = 50, .arrival = 40});
  EXPECT_EQ(rounds.take_all().agree, (Spans{{10, 20, "NEGOTIATE_ALLREDUCE"}, {30, 50, "NEGOTIATE_ALLREDUCE"}}));
}

TEST(HorovodNames, RoundsThatCameToNothingAreKnownWithoutArrivalsToo) {
  constexpr std::int64_t kMs = 1'000'000;
  Negotiations rounds;
  rounds.agreed({0, 1 * kMs, "vote"});
  rounds.moved({.name = "allreduce", .begin = 1 * kMs, .end = 5 * kMs});
  rounds.agreed({2 * kMs, 3 * kMs, "vote"});  // or something would have begun when the one before ended
  rounds.agreed({8 * kMs, 9 * kMs, "vote"});
  rounds.moved({.name = "broadcast", .begin = 9 * kMs, .end = 10 * kMs});
  const auto named = rounds.take_all();
  EXPECT_EQ(named.agree, (Spans{{0, 1 * kMs, "NEGOTIATE_ALLREDUCE"},
                                {2 * kMs, 3 * kMs, "NEGOTIATE_BROADCAST"},
                                {8 * kMs, 9 * kMs, "NEGOTIATE_BROADCAST"}}));
  EXPECT_TRUE(named.queue.empty());
}

TEST(HorovodNames, HalfOfThemAtATimeIsTheSame) {
  Negotiations rounds;
  for (std::int64_t i = 0; i < 4; ++i) {
    rounds.agreed({100 * i, 100 * i + 10, "vote"});
    rounds.moved({.name = "allreduce", .begin = 100 * i + 20});
  }
  auto named = rounds.take_half();
  EXPECT_EQ(named.agree, (Spans{{0, 10, "NEGOTIATE_ALLREDUCE"}, {100, 110, "NEGOTIATE_ALLREDUCE"}}));
  EXPECT_EQ(rounds.size(), 4u);
  named = rounds.take_all();
  EXPECT_EQ(named.agree, (Spans{{200, 210, "NEGOTIATE_ALLREDUCE"}, {300, 310, "NEGOTIATE_ALLREDUCE"}}));
  EXPECT_EQ(named.queue, (Spans{{210, 220, "QUEUE"}, {310, 320, "QUEUE"}}));
}

TEST(HorovodNames, WhatLedToNothingKeepsItsName) {
  Negotiations rounds;
  rounds.moved({.name = "allreduce", .begin = 5});
  rounds.agreed({10, 20, "vote"});
  const auto named = rounds.take_all();
  EXPECT_EQ(named.agree, (Spans{{10, 20, "vote"}}));
  EXPECT_TRUE(named.queue.empty());
  rounds.agreed({30, 40, "vote"});
  rounds.agreed({50, 60, "vote"});
  EXPECT_EQ(rounds.take_half().agree.size(), 1u) << "no memory fills up where nothing is moved";
}

}  // namespace
}  // namespace ronde::report::exporting
