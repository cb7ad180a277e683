#include "ronde/comm/watch/departure.h"

#include <gtest/gtest.h>

namespace ronde::comm::detail {
namespace {

TEST(Departure, ArrivesAsItWasSaid) {
  const Departure said{
      .rank = 3, .blamed = 1, .text = "a reason\nof \"two\" lines", .done = {{0, -1, 5, 6}, {9, 4, 0, 1}}};
  const Departure heard = read_departure(write_departure(said));
  EXPECT_EQ(heard.rank, 3);
  EXPECT_EQ(heard.blamed, 1);
  EXPECT_EQ(heard.text, said.text);
  EXPECT_EQ(heard.done, said.done);
  EXPECT_FALSE(heard.by_itself);
  EXPECT_TRUE(read_departure(write_departure({.rank = 3, .by_itself = true})).by_itself);
}

TEST(Departure, NonsenseIsNone) {
  EXPECT_EQ(read_departure("nonsense").rank, -1);
  EXPECT_EQ(read_departure("").rank, -1);
  EXPECT_EQ(read_departure("{}").rank, -1);
  for (const char* wrong :
       {R"({"rank":"x","blamed":1,"text":"","done":[]})", R"({"rank":1,"done":[]})",
        R"({"rank":1,"blamed":1,"text":7,"done":[]})", R"({"rank":1,"blamed":1,"text":"","done":[1]})",
        R"({"rank":1,"blamed":1,"text":"","done":[[1,2]]})"})
    EXPECT_EQ(read_departure(wrong).rank, -1) << wrong;
  EXPECT_EQ(read_departure(R"({"rank":1,"blamed":1,"text":"x","done":[[0,1]]})").rank, -1);
  EXPECT_EQ(read_departure(R"({"rank":"one","blamed":1,"text":"x","done":[]})").rank, -1);
}

TEST(Departure, FitsIntoOneMessage) {
  Departure long_one{.rank = 0, .text = std::string(100'000, 'x')};
  long_one.done.resize(100'000, {~std::uint64_t{0}, 1 << 30, ~std::uint64_t{0}, ~std::uint64_t{0}});
  EXPECT_LE(write_departure(long_one).size(), 80'000u);
  EXPECT_EQ(read_departure(write_departure(long_one)).rank, 0);
}

}  // namespace
}  // namespace ronde::comm::detail
