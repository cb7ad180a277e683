#include "ronde/trace/record/log_book.h"

#include <gtest/gtest.h>

#include "ronde/trace/span.h"

namespace ronde::trace::detail {
namespace {

struct LogBookTest : testing::Test {
  std::atomic<bool> recording{true};
  Wake wake;
  ThreadLog::Shared shared{recording, TickClock::best(), wake};
};

TEST_F(LogBookTest, NeverTakesMoreMemoryThanItMay) {
  LogBook book(shared, 64 << 10);
  ASSERT_EQ(book.ring_bytes(), 4u << 10);
  std::size_t bytes = 0, threads = 0, last = book.ring_bytes();
  ThreadLog* log = &book.open({});
  for (; log->ring().capacity() > 0; log = &book.open({}), ++threads) {
    const std::size_t mine = log->ring().capacity() * sizeof(Cell);
    EXPECT_LE(mine, last);
    bytes += last = mine;
  }
  EXPECT_LE(bytes, 64u << 10);
  EXPECT_GT(threads, 24u) << "late ones get less";
  EXPECT_FALSE(begin_span(*log, "x", {}, {}));
  EXPECT_EQ(book.dropped(), 1u);
}

TEST_F(LogBookTest, AHundredThreadsHaveRoomByDefault) {
  LogBook book(shared, 32 << 20);
  for (int i = 0; i < 100; ++i) EXPECT_GE(book.open({}).ring().capacity() * sizeof(Cell), 1u << 10) << i;
}

TEST_F(LogBookTest, UsesTheRingOfAThreadThatEndedAgain) {
  LogBook book(shared, 0);  // one ring, whatever the limit
  ThreadLog& first = book.open({.name = "first"});
  while (begin_span(first, "x", {}, {})) {
  }
  EXPECT_EQ(book.dropped(), 1u);
  book.remove(first);
  EXPECT_EQ(book.dropped(), 1u);  // not forgotten
  ThreadLog& second = book.open({.name = "second"});
  EXPECT_TRUE(begin_span(second, "x", {}, {}));
  EXPECT_EQ(second.ring().published(), 1u);
  EXPECT_EQ(book.snapshot().size(), 1u);
}

TEST_F(LogBookTest, LargeLimitsMakeMoreRingsNotLargerOnes) {
  EXPECT_EQ(LogBook(shared, std::size_t{1} << 30).ring_bytes(), std::size_t{1} << 20);
}

TEST_F(LogBookTest, WhileStoppedNothingBeginsButWhatIsOpenEnds) {
  LogBook book(shared, 64 << 10);
  ThreadLog& log = book.open({});
  ASSERT_TRUE(begin_span(log, "x", {}, {}));
  recording = false;
  EXPECT_FALSE(begin_span(log, "y", {}, {}));
  record_instant(log, "z", {}, {});
  record_counter(log, "n", std::int64_t{1});
  end_span(log, {});
  EXPECT_EQ(log.ring().published(), 2u);
  EXPECT_EQ(book.dropped(), 0u);
}

}  // namespace
}  // namespace ronde::trace::detail
