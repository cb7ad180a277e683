#include "ronde/data/pipeline/tuning.h"

#include <gtest/gtest.h>

namespace ronde::data {
namespace {

using namespace std::chrono_literals;

StageStats stage(std::chrono::nanoseconds busy, int threads, bool waits = false, std::int64_t samples = 100) {
  return {.name = "x", .threads = threads, .waits = waits, .busy = busy, .samples = samples};
}

TEST(Tuning, LeavesThingsAsTheyAreWhileNobodyWaits) {
  const TuningFacts facts{
      .stages = {stage(10ms, 1, true), stage(900ms, 1)}, .elapsed = 1s, .starved = 5ms, .threads = 8};
  EXPECT_EQ(tune(facts), (Tuning{{1, 1}, 2}));
}

TEST(Tuning, SharesThreadsByWhatASampleTakes) {
  const TuningFacts facts{.stages = {stage(300ms, 1), stage(900ms, 1)}, .elapsed = 1s, .starved = 500ms, .threads = 8};
  EXPECT_EQ(tune(facts).threads, (std::vector<int>{2, 6}));
}

TEST(Tuning, NeverTakesMoreThanThereAreButOneForEach) {
  const TuningFacts facts{
      .stages = {stage(300ms, 1), stage(900ms, 1), stage(1ms, 1)}, .elapsed = 1s, .starved = 500ms, .threads = 2};
  EXPECT_EQ(tune(facts).threads, (std::vector<int>{1, 1, 1}));
}

TEST(Tuning, ReadersAreAsManyAsKeepTheOthersBusy) {
  // 2 threads that take 10 ms a sample need 200 samples a second; each takes 20 ms to come.
  TuningFacts facts{.stages = {stage(2s, 1, true), stage(1s, 2)}, .elapsed = 1s, .starved = 500ms, .threads = 2};
  EXPECT_EQ(tune(facts).threads, (std::vector<int>{2, 2}));  // doubled at most
  facts.stages[0].threads = 4;
  EXPECT_EQ(tune(facts).threads, (std::vector<int>{4, 2}));
  facts.stages[0].busy = 10ms;
  EXPECT_EQ(tune(facts).threads, (std::vector<int>{1, 2}));
}

TEST(Tuning, LooksFurtherAheadWhenRoomAndHungerAlternate) {
  TuningFacts facts{
      .stages = {stage(500ms, 1)}, .elapsed = 1s, .starved = 100ms, .threads = 1, .ahead = 2, .most_ahead = 7};
  facts.stages[0].room = 300ms;  // the next stage is slower, that is all
  EXPECT_EQ(tune(facts).ahead, 2u);
  facts.full = 300ms;
  EXPECT_EQ(tune(facts).ahead, 4u);
  facts.ahead = 4;
  EXPECT_EQ(tune(facts).ahead, 7u);
  facts.most_ahead = 2;
  EXPECT_EQ(tune(facts).ahead, 4u);
}

TEST(StageStats, NamesTheStageThatTheOthersWaitFor) {
  StageStats read{.name = "read", .threads = 1, .busy = 100ms, .room = 900ms};
  StageStats decode{.name = "decode", .threads = 2, .busy = 1950ms, .input = 50ms};
  EXPECT_EQ(limiting_stage({read, decode}), "decode");
  decode.busy = 900ms;
  decode.room = 1s;
  EXPECT_EQ(limiting_stage({read, decode}), "");
  EXPECT_EQ(limiting_stage({}), "");
}

}  // namespace
}  // namespace ronde::data
