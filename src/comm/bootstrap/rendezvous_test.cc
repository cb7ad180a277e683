#include "ronde/comm/bootstrap/rendezvous.h"

#include <gtest/gtest.h>

namespace ronde::comm::detail {
namespace {

using Blobs = std::vector<std::string>;
using Ranks = std::vector<int>;

Rendezvous with_all(int size) {
  Rendezvous rendezvous(size);
  for (int rank = 0; rank < size; ++rank) EXPECT_EQ(rendezvous.arrive({rank, size}), std::nullopt);
  return rendezvous;
}

Ranks receivers(const Rendezvous::Replies& replies) {
  Ranks ranks;
  for (const auto& reply : replies) ranks.push_back(reply.rank);
  return ranks;
}

TEST(Rendezvous, EveryoneGetsEverythingWhenTheLastHasCome) {
  Rendezvous rendezvous = with_all(3);
  EXPECT_TRUE(rendezvous.give(2, "c").empty());
  EXPECT_TRUE(rendezvous.give(0, "a").empty());
  const auto replies = rendezvous.give(1, "b");
  EXPECT_EQ(receivers(replies), (Ranks{0, 1, 2}));
  for (const auto& reply : replies) EXPECT_EQ(*reply.blobs, (Blobs{"a", "b", "c"}));
}

TEST(Rendezvous, TheFirstExchangeOfARankMeetsTheFirstOfTheOthers) {
  Rendezvous rendezvous = with_all(2);
  rendezvous.give(0, "a1");
  EXPECT_EQ(receivers(rendezvous.give(1, "b1")), (Ranks{0, 1}));
  rendezvous.give(1, "b2");
  EXPECT_EQ(*rendezvous.give(0, "a2").front().blobs, (Blobs{"a2", "b2"}));
}

TEST(Rendezvous, ARankThatComesAgainGoesOnCounting) {
  Rendezvous rendezvous = with_all(2);
  rendezvous.give(0, "a1");
  rendezvous.give(1, "b1");
  rendezvous.give(0, "a2");
  rendezvous.leave(1);
  EXPECT_EQ(rendezvous.arrive({1, 2}), std::nullopt);
  EXPECT_EQ(*rendezvous.give(1, "b2").front().blobs, (Blobs{"a2", "b2"})) << "its goodbye was no loss to rank 0";
}

TEST(Rendezvous, WhoGivesUpHearsWhoIsMissingAndTheOthersGoOn) {
  Rendezvous rendezvous = with_all(4);
  rendezvous.give(1, "b");
  rendezvous.give(2, "c");
  const auto replies = rendezvous.give_up(1);
  ASSERT_EQ(receivers(replies), Ranks{1});
  EXPECT_EQ(replies.front().failure->kind, Error::Kind::Timeout);
  EXPECT_EQ(replies.front().failure->ranks, (Ranks{0, 3}));
  EXPECT_EQ(replies.front().failure->text, "ranks 0, 3 did not arrive");
  EXPECT_TRUE(rendezvous.give_up(1).empty()) << "it has its answer";
  rendezvous.give(0, "a");
  EXPECT_EQ(receivers(rendezvous.give(3, "d")), (Ranks{0, 2, 3}));
}

TEST(Rendezvous, ALostRankFailsTheExchangeInProgressForThoseWhoWaitAndThoseWhoComeLate) {
  Rendezvous rendezvous = with_all(3);
  rendezvous.give(0, "a");
  rendezvous.give(1, "b");
  const auto replies = rendezvous.lose(1, "its connection closed");
  ASSERT_EQ(receivers(replies), Ranks{0});
  EXPECT_EQ(replies.front().failure->kind, Error::Kind::PeerLost);
  EXPECT_EQ(replies.front().failure->ranks, Ranks{1});
  EXPECT_EQ(replies.front().failure->text, "rank 1 is gone (its connection closed)");
  EXPECT_EQ(rendezvous.arrive({1, 3}), std::nullopt);
  const auto late = rendezvous.give(2, "c");
  ASSERT_EQ(receivers(late), Ranks{2});
  EXPECT_EQ(late.front().failure->ranks, Ranks{1}) << "the exchange that failed stays failed";
}

TEST(Rendezvous, NobodyWaitsForAProcessThatHasEnded) {
  Rendezvous rendezvous = with_all(2);
  EXPECT_TRUE(rendezvous.ended(1, "exit code 0").empty()) << "nobody waited";
  EXPECT_TRUE(rendezvous.lose(1, "its connection closed").empty());
  const auto replies = rendezvous.give(0, "a");
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_EQ(replies.front().failure->text, "rank 1 is gone (exit code 0)");
  EXPECT_EQ(rendezvous.arrive({1, 2}), "the process of this rank has ended");
}

TEST(Rendezvous, RefusesWhoDoesNotBelong) {
  Rendezvous rendezvous(2);
  EXPECT_EQ(rendezvous.arrive({2, 2}), "there are only ranks 0 to 1");
  EXPECT_EQ(rendezvous.arrive({-1, 2}), "there are only ranks 0 to 1");
  EXPECT_EQ(rendezvous.arrive({0, 3}), "it expects 3 ranks, but the job has 2");
  EXPECT_EQ(rendezvous.arrive({0, 2}), std::nullopt);
  EXPECT_EQ(rendezvous.arrive({0, 2}), "another process is connected as this rank");
}

TEST(BootstrapWire, MessagesSurviveAnyCutting) {
  const std::string bytes = pack({MessageType::Give, "hello"}) + pack({MessageType::Bye, ""});
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    MessageReader reader(100);
    std::vector<Message> messages;
    for (const std::string& piece : {bytes.substr(0, cut), bytes.substr(cut)}) {
      reader.add(piece);
      while (auto message = reader.next()) messages.push_back(*message);
    }
    ASSERT_EQ(messages.size(), 2u) << cut;
    EXPECT_EQ(messages[0].content, "hello");
    EXPECT_EQ(messages[1].type, MessageType::Bye);
  }
}

TEST(BootstrapWire, ContentsComeBackAndShortOrLongOnesAreRefused) {
  const Blobs blobs{"", std::string("\0x", 2), "third"};
  EXPECT_EQ(read_blobs(write_blobs(blobs)), blobs);
  const Failure failure = read_failure(write_failure({Error::Kind::Timeout, {1, 5}, "late"}));
  EXPECT_EQ(failure.kind, Error::Kind::Timeout);
  EXPECT_EQ(failure.ranks, (Ranks{1, 5}));
  EXPECT_EQ(failure.text, "late");
  EXPECT_EQ(read_hello(write_hello({3, 8})).rank, 3);
  const std::string content = write_blobs(blobs);
  for (std::size_t length = 0; length < content.size(); ++length)
    EXPECT_THROW(read_blobs(content.substr(0, length)), Error) << length;
  EXPECT_THROW(read_blobs(content + "x"), Error);
  EXPECT_THROW(read_blobs(std::string(8, '\xff')), Error) << "a count that would need gigabytes";
  EXPECT_THROW(read_hello("GET / HTTP/1.1\r\n"), Error);
}

TEST(BootstrapWire, RefusesWhatIsTooLargeBeforeItHasCome) {
  MessageReader reader(10);
  reader.add(pack({MessageType::Give, std::string(11, 'x')}).substr(0, 5));
  EXPECT_THROW(reader.next(), Error);
  MessageReader other(10);
  other.add(std::string("\0\0\0\0\x63", 5));
  EXPECT_THROW(other.next(), Error) << "no such type";
}

TEST(Rendezvous, WhoHasEndedStaysEndedWhateverGoodbyeIsStillOnTheWay) {
  Rendezvous rendezvous(2);
  for (const int rank : {0, 1}) EXPECT_EQ(rendezvous.arrive({.rank = rank, .size = 2}), std::nullopt);
  rendezvous.ended(1, "signal 9 (killed)");
  rendezvous.leave(1);
  const auto replies = rendezvous.give(0, "anyone?");
  ASSERT_EQ(replies.size(), 1u);
  ASSERT_TRUE(replies.front().failure);
  EXPECT_EQ(replies.front().failure->text, "rank 1 is gone (signal 9 (killed))");
}

}  // namespace
}  // namespace ronde::comm::detail
