#include "ronde/bench/comm/turns.h"

#include <gtest/gtest.h>

namespace ronde::bench::detail {
namespace {

TEST(Command, GoesThroughALineOfText) {
  const Command command{.what = "heap", .dtype = "bf16", .bytes = 1024, .warm_up = 4, .batches = 5, .rounds = 20};
  EXPECT_EQ(write_command(command), "heap bf16 1024 4 5 20");
  const auto read = read_command("heap bf16 1024 4 5 20");
  ASSERT_TRUE(read);
  EXPECT_EQ(write_command(*read), "heap bf16 1024 4 5 20");
  EXPECT_FALSE(read_command(""));
  EXPECT_FALSE(read_command("heap bf16 x 4 5 20"));
}

TEST(Command, TimesTheRoundsAfterTheWarmUp) {
  int rounds = 0;
  const double time = time_rounds({.warm_up = 3, .batches = 5, .rounds = 7}, [&] { ++rounds; });
  EXPECT_EQ(rounds, 3 + 5 * 7);
  EXPECT_GE(time, 0.0);
}

TEST(Command, TimesEachRoundByItself) {
  int rounds = 0;
  const Timing timing = time_each_round({.warm_up = 3, .batches = 5, .rounds = 7}, [&] { ++rounds; });
  EXPECT_EQ(rounds, 3 + 5 * 7 + 7);
  ASSERT_TRUE(timing.p50_us && timing.p90_us);
  EXPECT_LE(*timing.p50_us, *timing.p90_us);
  rounds = 0;
  EXPECT_TRUE(time_each_round({.warm_up = 1, .batches = 3, .rounds = 1}, [&] { ++rounds; }).p90_us);
  EXPECT_EQ(rounds, 1 + 3) << "a batch is a round already";
}

TEST(Command, NineOfTenDoNotExceedTheNinthTenth) {
  EXPECT_EQ(ninth_tenth({5}), 5);
  EXPECT_EQ(ninth_tenth({1, 2, 9}), 9);
  EXPECT_EQ(ninth_tenth({10, 9, 8, 7, 6, 5, 4, 3, 2, 1}), 9);
  std::vector<double> many(1000);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = static_cast<double>(i + 1);
  EXPECT_EQ(ninth_tenth(many), 900);
}

TEST(Timing, GoesThroughALineOfText) {
  EXPECT_EQ(write_timing(1.25), "1.25");
  Timing timing(1.25);
  timing.p50_us = 1.5;
  timing.p90_us = 3;
  EXPECT_EQ(write_timing(timing), "1.25 1.5 3");
  const auto read = read_timing("1.25 1.5 3");
  ASSERT_TRUE(read);
  EXPECT_EQ(write_timing(*read), "1.25 1.5 3");
  EXPECT_EQ(write_timing(read_timing("7").value()), "7");
  for (const char* wrong : {"", "-", "ready", "1.25 x", "1 2 3 4"}) EXPECT_FALSE(read_timing(wrong)) << wrong;
}

TEST(Turns, ShortRoundsAreTimedManyAtOnce) {
  EXPECT_EQ(planned({}, 0.2).rounds, 2000);
  EXPECT_EQ(planned({}, 200).rounds, 10);
  EXPECT_EQ(planned({}, 5'000).rounds, 1);
  EXPECT_EQ(planned({}, 5'000).batches, 5);
  EXPECT_EQ(planned({}, 50'000).batches, 3);
}

TEST(Turns, AlternateAndGiveMedians) {
  std::string order;
  std::vector<double> a{9, 1, 5, 3}, b{9, 2, 2, 7};
  std::size_t next_a = 0, next_b = 0;
  const std::vector<Heat> heats{{"a", "x",
                                 [&](const Command& command) -> std::optional<Timing> {
                                   EXPECT_EQ(command.what, "x");
                                   order += 'a';
                                   return a[next_a++];
                                 }},
                                {"b", "y",
                                 [&](const Command&) -> std::optional<Timing> {
                                   order += 'b';
                                   Timing timing(b[next_b++]);
                                   timing.p50_us = 2 * timing.us;
                                   timing.p90_us = 3 * timing.us;
                                   return timing;
                                 }},
                                {"c", "z", [&](const Command&) -> std::optional<Timing> {
                                   order += 'c';
                                   return {};
                                 }}};
  const auto medians = take_turns(heats, {.bytes = 4}, 3);
  EXPECT_EQ(order, "abcababab") << "the first turn finds out how long it takes, and who cannot";
  ASSERT_TRUE(medians[0] && medians[1]);
  EXPECT_EQ(medians[0]->us, 3.0);
  EXPECT_FALSE(medians[0]->p90_us) << "it times no single calls";
  EXPECT_EQ(medians[1]->us, 2.0);
  EXPECT_EQ(medians[1]->p50_us, 4.0);
  EXPECT_EQ(medians[1]->p90_us, 6.0);
  EXPECT_FALSE(medians[2]);
}

}  // namespace
}  // namespace ronde::bench::detail
