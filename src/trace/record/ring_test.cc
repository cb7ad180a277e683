#include "ronde/trace/record/ring.h"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace ronde::trace::detail {
namespace {

bool begin(Ring& ring, std::span<const Arg> args = {}) {
  return ring.begin({.kind = Slot::Kind::Begin}, args, [] { return std::uint64_t{1}; });
}
void end(Ring& ring, std::span<const Arg> args = {}) {
  ring.end({.kind = Slot::Kind::End}, args);
}

struct Read {
  Slot event;
  std::vector<Slot> args;
};
std::vector<Read> read_events(Ring& ring) {
  std::vector<Read> all;
  const std::uint64_t until = ring.published();
  for (std::uint64_t i = ring.consumed(); i < until;) {
    Read& next = all.emplace_back();
    i = ring.read(i, until, next.event, next.args);
  }
  ring.consume_to(until);
  return all;
}

TEST(Ring, HandsEventsAndTheirArgumentsOnInOrder) {
  Ring ring(16);
  const Arg args[] = {{"bytes", -7}, {"ratio", 0.5}, {"phase", "vote"}, Arg::flow(9)};
  ASSERT_TRUE(begin(ring, args));
  ring.event({.time = 5, .name = "moment", .bits = 6, .track = 7, .explicit_time = true}, {});
  ring.event({.time = 6, .name = "count", .bits = 8, .kind = Slot::Kind::CounterInt}, {});
  ring.end({.time = 9, .track = 3, .kind = Slot::Kind::End}, {});
  const auto read = read_events(ring);
  ASSERT_EQ(read.size(), 4u);
  EXPECT_EQ(read[0].event.kind, Slot::Kind::Begin);
  EXPECT_EQ(read[0].event.time, 1u);
  ASSERT_EQ(read[0].args.size(), 4u);
  EXPECT_STREQ(read[0].args[0].name, "bytes");
  EXPECT_EQ(static_cast<std::int64_t>(read[0].args[0].bits), -7);
  EXPECT_EQ(read[0].args[1].arg_kind, Arg::Kind::Double);
  EXPECT_EQ(read[0].args[2].arg_kind, Arg::Kind::Text);
  EXPECT_EQ(read[0].args[3].arg_kind, Arg::Kind::Flow);
  EXPECT_STREQ(read[1].event.name, "moment");
  EXPECT_TRUE(read[1].event.explicit_time);
  EXPECT_EQ(read[1].event.bits, 6u);
  EXPECT_EQ(read[1].event.track, 7u);
  EXPECT_EQ(read[2].event.kind, Slot::Kind::CounterInt);
  EXPECT_EQ(read[2].event.bits, 8u);
  EXPECT_FALSE(read[2].event.explicit_time);
  EXPECT_EQ(read[3].event.kind, Slot::Kind::End);
  EXPECT_EQ(read[3].event.track, 3u);
  EXPECT_EQ(read[3].event.time, 9u);
}

TEST(Ring, APlainSpanTakesTwoCells) {
  Ring ring(8);
  ASSERT_TRUE(begin(ring));
  end(ring);
  EXPECT_EQ(ring.published(), 2u);
}

TEST(Ring, DropsAndCountsWhatDoesNotFit) {
  Ring ring(4);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(ring.event({}, {}));
  EXPECT_FALSE(ring.event({}, {}));
  EXPECT_FALSE(begin(ring));
  EXPECT_EQ(ring.dropped(), 2u);
  read_events(ring);
  EXPECT_TRUE(ring.event({}, {}));
  EXPECT_EQ(ring.dropped(), 2u);
}

TEST(Ring, KeepsRoomForEveryEnd) {
  Ring ring(8);
  int open = 0;
  while (begin(ring)) ++open;
  EXPECT_EQ(open, 4);  // four begins, four places kept
  EXPECT_FALSE(ring.event({}, {}));
  const Arg args[] = {{"late", 1}};
  for (int i = 0; i < open; ++i) end(ring, args);
  EXPECT_EQ(ring.published(), 8u);  // all ends are there; there was no room for their arguments
  const auto read = read_events(ring);
  EXPECT_EQ(read.back().event.kind, Slot::Kind::End);
  EXPECT_TRUE(read.back().args.empty());
}

TEST(Ring, AnEndTakesItsArgumentsWhenThereIsRoom) {
  Ring ring(8);
  ASSERT_TRUE(begin(ring));
  const Arg args[] = {{"late", 1}};
  end(ring, args);
  const auto read = read_events(ring);
  ASSERT_EQ(read.at(1).args.size(), 1u);
  EXPECT_STREQ(read[1].args[0].name, "late");
}

TEST(Ring, WithoutMemoryCountsEverything) {
  Ring ring(0);
  EXPECT_FALSE(begin(ring));
  EXPECT_FALSE(ring.event({}, {}));
  EXPECT_FALSE(ring.wants_wake());
  EXPECT_EQ(ring.dropped(), 2u);
}

TEST(Ring, AsksToBeReadOnceAHalf) {
  Ring ring(16);
  int asked = 0;
  for (int i = 0; i < 16; ++i) {
    ASSERT_TRUE(ring.event({}, {}));
    if (ring.wants_wake()) ++asked;
  }
  EXPECT_EQ(asked, 2);
  read_events(ring);
  for (int i = 0; i < 7; ++i) {
    ASSERT_TRUE(ring.event({}, {}));
    EXPECT_FALSE(ring.wants_wake());
  }
  ASSERT_TRUE(ring.event({}, {}));
  EXPECT_TRUE(ring.wants_wake());
}

// What arrives is whole and in order, and arrived + dropped is what was sent.
TEST(Ring, LosesNothingSilentlyBetweenTwoThreads) {
  constexpr std::uint64_t kEvents = 200'000;
  Ring ring(64);
  std::jthread producer([&] {
    ASSERT_TRUE(begin(ring));  // so that there is an end, which always fits
    for (std::uint64_t i = 2; i < kEvents + 2; ++i) {
      const Arg arg("twice", 2 * i);
      ring.event({.time = i}, {&arg, 1});
    }
    ring.end({.time = kEvents + 2, .kind = Slot::Kind::End}, {});
  });
  std::uint64_t arrived = 0, last = 0;
  while (last < kEvents + 2) {
    for (const auto& [event, args] : read_events(ring)) {
      ASSERT_GT(event.time, last);
      last = event.time;
      if (event.kind != Slot::Kind::Instant) continue;
      ASSERT_EQ(args.size(), 1u);
      ASSERT_EQ(args[0].bits, 2 * last);
      ++arrived;
    }
  }
  producer.join();
  EXPECT_EQ(arrived + ring.dropped(), kEvents);
  EXPECT_GT(arrived, 0u);
}

}  // namespace
}  // namespace ronde::trace::detail
