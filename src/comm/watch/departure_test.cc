#include "ronde/comm/watch/departure.h"

#include <gtest/gtest.h>

#include "ronde/comm/link/tcp/mesh_frame.h"
#include "ronde/comm/watch/watchdog.h"

namespace ronde::comm::detail {
namespace {

constexpr std::size_t kMost = 4096;

TEST(Departure, ArrivesAsItWasSaid) {
  const Departure said{
      .rank = 3, .blamed = 1, .text = "a reason\nof \"two\" lines", .done = {{0, -1, 5, 6}, {9, 4, 0, 1}}};
  const Departure heard = read_departure(write_departure(said, kMost));
  EXPECT_EQ(heard.rank, 3);
  EXPECT_EQ(heard.blamed, 1);
  EXPECT_EQ(heard.text, said.text);
  EXPECT_EQ(heard.done, said.done);
  EXPECT_FALSE(heard.by_itself);
  EXPECT_TRUE(read_departure(write_departure({.rank = 3, .by_itself = true}, kMost)).by_itself);
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

// Of a job of 4096 ranks, of which each has sent something to each other one.
TEST(Departure, TellsOfAllPairsOfALargeJob) {
  Departure said{.rank = 0, .blamed = 0, .text = "rank 0 has left", .done = {{0, -1, 100, 100}}};
  for (int partner = 1; partner < 4096; ++partner)
    for (const std::uint64_t channel : {1, 2}) said.done.push_back({channel, partner, 1000, 1000});
  EXPECT_EQ(read_departure(write_departure(said, FrameHeader::kLongestNote)).done, said.done);
}

TEST(Departure, FitsIntoOneMessage) {
  Departure long_one{.rank = 0, .text = std::string(100'000, 'x')};
  long_one.done.resize(100'000, {~std::uint64_t{0}, 1 << 30, ~std::uint64_t{0}, ~std::uint64_t{0}});
  for (const std::size_t most : {std::size_t{4096}, Watchdog::kLongest, std::size_t{FrameHeader::kLongestNote}}) {
    const std::string text = write_departure(long_one, most);
    EXPECT_LE(text.size(), most);
    const Departure heard = read_departure(text);
    EXPECT_EQ(heard.rank, 0);
    EXPECT_EQ(heard.done.front(), long_one.done.front());
    EXPECT_GT(heard.done.size(), most / 100 - 20);
  }
}

TEST(Departure, SeveralTravelInFewMessages) {
  std::vector<Departure> said;
  for (int rank = 0; rank < 100; ++rank) said.push_back({.rank = rank, .blamed = rank, .text = "two\nlines"});
  EXPECT_EQ(write_departures(said, 1 << 20).size(), 1u);
  EXPECT_TRUE(write_departures({}, 1 << 20).empty());
  std::vector<int> heard;
  for (const std::string& message : write_departures(said, kMost)) {
    EXPECT_LE(message.size(), kMost);
    for (const Departure& one : read_departures(message)) heard.push_back(one.rank);
  }
  ASSERT_EQ(heard.size(), 100u);
  EXPECT_EQ(heard.back(), 99);
  EXPECT_TRUE(read_departures("nonsense\n{}\n\n").empty());
}

}  // namespace
}  // namespace ronde::comm::detail
