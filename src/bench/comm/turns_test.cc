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
                                 [&](const Command& command) -> std::optional<double> {
                                   EXPECT_EQ(command.what, "x");
                                   order += 'a';
                                   return a[next_a++];
                                 }},
                                {"b", "y",
                                 [&](const Command&) -> std::optional<double> {
                                   order += 'b';
                                   return b[next_b++];
                                 }},
                                {"c", "z", [&](const Command&) -> std::optional<double> {
                                   order += 'c';
                                   return {};
                                 }}};
  const auto medians = take_turns(heats, {.bytes = 4}, 3);
  EXPECT_EQ(order, "abcababab") << "the first turn finds out how long it takes, and who cannot";
  EXPECT_EQ(medians[0], 3.0);
  EXPECT_EQ(medians[1], 2.0);
  EXPECT_FALSE(medians[2]);
}

}  // namespace
}  // namespace ronde::bench::detail
