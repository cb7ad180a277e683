#include "ronde/comm/link/shm/shm_link.h"

#include <atomic>
#include <barrier>
#include <bit>
#include <latch>
#include <numeric>

#include <gtest/gtest.h>

#include "ronde/comm/link/testing/test_ranks.h"

namespace ronde::comm::detail {
namespace {

// A rank with a link to all others.
struct LinkedRank {
  Node& node;
  ShmLink& link;
  SpinPolicy spin_policy;
  std::atomic<int>& wrong;
  int rank() const { return link.rank(); }
  void expect(bool right) const { wrong += right ? 0 : 1; }
  void run(Task task) const { drive(node, std::move(task), spin_policy); }
};

// Calls body(LinkedRank&) on `ranks` threads. A rank that stopped where it finds something wrong would leave the others
// waiting for ever: it says so by expect(), and goes on.
template <class Body>
void run_linked(int ranks, Body body) {
  std::atomic<int> wrong = 0;
  std::vector<std::size_t> areas(static_cast<std::size_t>(ranks));
  std::latch ready(ranks);
  run_ranks(ranks, [&](TestRank& rank) {
    std::byte* memory = rank.node.arena().allocate(sizeof(GroupArea));
    const auto mine = static_cast<std::size_t>(rank.channel.rank());
    areas[mine] = *rank.node.arena().offset_of(memory, sizeof(GroupArea));
    ready.arrive_and_wait();
    std::vector<int> members(areas.size());
    std::iota(members.begin(), members.end(), 0);
    ShmLink link(rank.node, members, areas);
    LinkedRank linked{rank.node, link, rank.spin_policy, wrong};
    body(linked);
  });
  EXPECT_EQ(wrong, 0) << "things went wrong with " << ranks << " ranks";
}

// The same on every rank: what rank r says in a round.
std::uint64_t word(int round, int rank) {
  return std::hash<int>{}(round * 64 + rank) * 0x9e3779b97f4a7c15ULL >> 3;
}

class ShmLinks : public testing::TestWithParam<int> {
 protected:
  int ranks() const { return GetParam(); }
};
INSTANTIATE_TEST_SUITE_P(Ranks, ShmLinks, testing::Values(1, 2, 3, 4, 5, 8));

TEST_P(ShmLinks, CombineGivesEveryoneTheLeastOfEachWord) {
  run_linked(ranks(), [&](LinkedRank& rank) {
    for (int round = 0; round < 500; ++round) {
      const std::size_t count = round % 7 == 0 ? Link::kMostWords : static_cast<std::size_t>(round % 5);
      std::vector<std::uint64_t> words(count), least(count, ~std::uint64_t{0});
      for (int r = 0; r < ranks(); ++r)
        for (std::size_t i = 0; i < count; ++i) least[i] = std::min(least[i], word(round + static_cast<int>(i), r));
      for (std::size_t i = 0; i < count; ++i) words[i] = word(round + static_cast<int>(i), rank.rank());
      rank.run(rank.link.combine(words, false));
      rank.expect(words == least);
    }
  });
}

std::string letter(int round, std::size_t bytes) {
  std::string text(bytes, ' ');
  for (std::size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>(word(round, static_cast<int>(i % 61)));
  return text;
}

TEST_P(ShmLinks, SpreadFromChangingLeadersInOneOrManyParts) {
  const std::vector<std::size_t> sizes = {0, 1, 100, kSmallBytes - 8, kSmallBytes - 7, 5 * kSmallBytes, 40};
  run_linked(ranks(), [&](LinkedRank& rank) {
    for (int round = 0; round < 70; ++round) {
      const int leader = round * 3 % ranks();
      const std::string wanted = letter(round, sizes[static_cast<std::size_t>(round) % sizes.size()]);
      std::string bytes = leader == rank.rank() ? wanted : "what was here before";
      rank.run(rank.link.spread(bytes, leader));
      rank.expect(bytes == wanted);
      std::vector<std::uint64_t> words = {word(round, rank.rank())};
      rank.run(rank.link.combine(words, false));  // as the contract asks for
    }
  });
}

TEST_P(ShmLinks, TellGivesEveryoneWhatEveryoneSays) {
  run_linked(ranks(), [&](LinkedRank& rank) {
    for (int round = 0; round < 100; ++round) {
      const auto said = [&](int r) { return letter(round + r, static_cast<std::size_t>((round + r) % 4 * 1000)); };
      std::vector<std::string> all = {"what was here before"};
      rank.run(rank.link.tell(said(rank.rank()), all));
      rank.expect(all.size() == static_cast<std::size_t>(ranks()));
      for (int r = 0; r < ranks(); ++r) rank.expect(all[static_cast<std::size_t>(r)] == said(r));
    }
    std::vector<std::string> all;
    rank.run(rank.link.tell(std::string(100'000, 'x'), all));
    for (const std::string& text : all) rank.expect(text == std::string(kSmallBytes - 8, 'x'));  // as much as fits
  });
}

// What a negotiation does that finds differences and has more to propose.
TEST_P(ShmLinks, TellingAndSpreadingTakeTurns) {
  run_linked(ranks(), [&](LinkedRank& rank) {
    for (int round = 0; round < 300; ++round) {
      const int leader = round % ranks();
      const auto said = [&](int r) { return letter(2 * round + r, 3000); };
      std::vector<std::string> all;
      for (int again = 0; again < 1 + round % 2; ++again) rank.run(rank.link.tell(said(rank.rank()), all));
      for (int r = 0; r < ranks(); ++r) rank.expect(all[static_cast<std::size_t>(r)] == said(r));
      std::string bytes = leader == rank.rank() ? letter(round, 3000) : "";
      rank.run(rank.link.spread(bytes, leader));
      rank.expect(bytes == letter(round, 3000));
      std::vector<std::uint64_t> words = {word(round, rank.rank())};
      rank.run(rank.link.combine(words, false));
    }
  });
}

TEST_P(ShmLinks, ShareGivesEveryoneTheWordsOfAll) {
  run_linked(ranks(), [&](LinkedRank& rank) {
    for (int round = 0; round < 200; ++round) {
      const auto count = static_cast<std::size_t>(round % 6);
      std::vector<std::uint64_t> mine(count), wanted, all = {1, 2, 3};
      for (std::size_t i = 0; i < count; ++i) mine[i] = word(round + static_cast<int>(i), rank.rank());
      for (int r = 0; r < ranks(); ++r)
        for (std::size_t i = 0; i < count; ++i) wanted.push_back(word(round + static_cast<int>(i), r));
      rank.run(rank.link.share(mine, all));
      rank.expect(all == wanted);
    }
  });
}

TEST_P(ShmLinks, AgreeingAndMovingGoOnAtTheSameTime) {
  run_linked(ranks(), [&](LinkedRank& rank) {
    for (int round = 0; round < 100; ++round) {
      std::vector<std::uint64_t> words = {word(round, rank.rank())}, all;
      Task control = rank.link.combine(words, false), data = rank.link.share({word(round, rank.rank())}, all);
      bool agreed = false, moved = false;
      while (!agreed || !moved) {  // members take them up in different orders
        for (const int turn : {0, 1})
          if ((turn + rank.rank()) % 2 == 0) {
            agreed = agreed || control.advance();
          } else {
            moved = moved || data.advance();
          }
        std::this_thread::yield();
      }
      rank.expect(words.front() == std::ranges::min(all));
    }
  });
}

TEST_P(ShmLinks, CountsRoundsAndBucketsForAllToSee) {
  run_linked(ranks(), [&](LinkedRank& rank) {
    for (int i = 0; i < 3 + rank.rank(); ++i) rank.link.finish_round();
    for (int i = 0; i < 5 + rank.rank(); ++i) rank.link.finish_bucket();
    rank.run(rank.link.barrier());
    for (int r = 0; r < ranks(); ++r) {
      rank.expect(rank.link.rounds_of(r) == static_cast<std::uint64_t>(3 + r));
      rank.expect(rank.link.buckets_of(r) == static_cast<std::uint64_t>(5 + r));
    }
  });
}

// Sleeps like an engine that has nothing under way, until `called`. False: it never was.
template <class Called>
bool sleep_until(Node& node, Called called) {
  const Deadline until = Deadline::after(std::chrono::seconds(10));
  while (!called() && !until.passed()) {
    const std::uint32_t rung = node.about_to_sleep(true);
    if (!called()) node.sleep_since(rung, until);
    node.awake();
  }
  return called();
}

TEST_P(ShmLinks, EveryoneWhoSleepsIsSummonedWhenOneBegins) {
  run_linked(ranks(), [&](LinkedRank& rank) {
    for (int round = 0; round < 100; ++round) {
      if (rank.rank() != round % ranks()) rank.expect(sleep_until(rank.node, [&] { return rank.link.begun(); }));
      std::vector<std::uint64_t> words = {word(round, rank.rank())};
      rank.run(rank.link.combine(words, true));
      rank.run(rank.link.barrier());
    }
  });
}

// With a plan, a "no" calls everyone who has not voted, whoever has voted before. Every set of early voters is tried.
TEST(ShmLink, ANoReachesEveryoneWhoSleeps) {
  for (const int ranks : {2, 3, 4, 5, 7, 8}) {
    std::barrier together(ranks);
    std::atomic<int> missed = -1;  // the set of early voters with whom somebody slept on
    run_linked(ranks, [&](LinkedRank& rank) {
      for (int round = 0; round < 1 << ranks && missed < 0; ++round) {
        const bool refuses = rank.rank() == round % ranks, early = !refuses && (round >> rank.rank() & 1);
        std::vector<std::uint64_t> words = {refuses ? std::uint64_t{0} : std::uint64_t{7}};
        Task vote = rank.link.combine(words, false);
        if (early) vote.advance();
        together.arrive_and_wait();
        if (refuses) std::this_thread::sleep_for(std::chrono::microseconds(300));  // the others fall asleep
        if (!refuses && !early && !sleep_until(rank.node, [&] { return rank.link.refused(); })) missed = round;
        rank.run(std::move(vote));
        rank.expect(words.front() == 0 && !rank.link.refused());
        together.arrive_and_wait();
      }
    });
    EXPECT_EQ(missed, -1) << ranks << " ranks, by bit those that had voted before";
  }
}

TEST(ShmLink, NamesThoseWhoHaveNotBegun) {
  std::barrier together(3);
  run_linked(3, [&](LinkedRank& rank) {
    std::vector<std::uint64_t> words = {5};
    Task vote = rank.link.combine(words, false);
    if (rank.rank() == 1) vote.advance();
    together.arrive_and_wait();
    rank.expect(rank.link.silent() == std::vector<int>{0, 2});
    together.arrive_and_wait();
    rank.run(std::move(vote));
  });
}

TEST(ShmLink, ACombineCostsOneMessageAndOfMoreRanksTheirLogarithm) {
  for (const int ranks : {1, 2, 3, 8, ControlArea::kMostAtOnce, ControlArea::kMostAtOnce + 1}) {
    run_linked(ranks, [&](LinkedRank& rank) {
      for (std::uint64_t round = 0; round < 5; ++round) {
        const auto mine = static_cast<std::uint64_t>(rank.rank());
        std::vector<std::uint64_t> words = {mine + round, 100 - mine};
        rank.run(rank.link.combine(words, false));
        rank.expect(words[0] == round && words[1] == 101 - static_cast<std::uint64_t>(ranks));
        std::vector<std::uint64_t> vote = {1 + mine * round};
        rank.run(rank.link.combine(vote, false));
        rank.expect(vote[0] == 1);
      }
      const int steps = std::bit_width(static_cast<unsigned>(ranks - 1));
      const auto each = static_cast<std::uint64_t>(ranks <= ControlArea::kMostAtOnce ? std::min(steps, 1) : steps);
      rank.expect(rank.link.traffic().messages == 10 * each);
      rank.expect(rank.link.traffic().bytes == 5 * each * (3 + 2) * sizeof(std::uint64_t));
    });
  }
}

}  // namespace
}  // namespace ronde::comm::detail
