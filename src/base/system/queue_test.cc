#include "ronde/base/system/queue.h"

#include <algorithm>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace ronde {
namespace {

using namespace std::chrono_literals;

TEST(BoundedQueue, KeepsOrderAndTakesItemsThatOnlyMove) {
  BoundedQueue<std::unique_ptr<int>> queue(2);
  EXPECT_TRUE(queue.push(std::make_unique<int>(1)));
  EXPECT_TRUE(queue.push(std::make_unique<int>(2)));
  EXPECT_EQ(**queue.pop(), 1);
  EXPECT_EQ(**queue.pop(), 2);
}

TEST(BoundedQueue, RefusesWhenFullAtTheDeadlineAndGivesNothingWhenEmpty) {
  BoundedQueue<int> queue(1);
  EXPECT_EQ(queue.pop(Deadline::after(1ms)), std::nullopt);
  EXPECT_TRUE(queue.push(1));
  EXPECT_FALSE(queue.push(2, Deadline::after(1ms)));
  EXPECT_EQ(queue.size(), 1u);
}

TEST(BoundedQueue, WhatWasNotTakenStaysWithTheCaller) {
  BoundedQueue<std::unique_ptr<int>> queue(1);
  queue.close();
  auto item = std::make_unique<int>(5);
  EXPECT_FALSE(queue.push(std::move(item)));
  ASSERT_NE(item, nullptr);
  EXPECT_EQ(*item, 5);
}

TEST(BoundedQueue, CloseWakesWaitersAndKeepsWhatIsInside) {
  BoundedQueue<int> queue(1);
  queue.push(7);
  std::jthread producer([&] { EXPECT_FALSE(queue.push(8)); });
  std::this_thread::sleep_for(5ms);
  queue.close();
  producer.join();
  EXPECT_EQ(queue.pop(), 7);
  EXPECT_EQ(queue.pop(), std::nullopt);
}

TEST(BoundedQueue, LosesAndDoublesNothingBetweenManyThreads) {
  constexpr int kThreads = 4, kEach = 2000;
  BoundedQueue<int> queue(3);
  std::vector<std::vector<int>> taken(kThreads);
  {
    std::vector<std::jthread> consumers;
    for (auto& mine : taken)
      consumers.emplace_back([&] {
        while (auto item = queue.pop()) mine.push_back(*item);
      });
    std::vector<std::jthread> producers;
    for (int t = 0; t < kThreads; ++t)
      producers.emplace_back([&queue, t] {
        for (int i = 0; i < kEach; ++i) queue.push(t * kEach + i);
      });
    producers.clear();
    queue.close();
  }
  std::vector<int> all;
  for (const auto& mine : taken) all.insert(all.end(), mine.begin(), mine.end());
  std::ranges::sort(all);
  ASSERT_EQ(all.size(), std::size_t{kThreads * kEach});
  for (int i = 0; i < kThreads * kEach; ++i) ASSERT_EQ(all[static_cast<std::size_t>(i)], i);
}

TEST(Deadline, IsNeverUnlessSet) {
  EXPECT_FALSE(Deadline().passed());
  EXPECT_EQ(Deadline().left(), std::nullopt);
  EXPECT_TRUE(Deadline::after(-1ms).passed());
  EXPECT_EQ(Deadline::after(-1ms).left(), 0ns);
  EXPECT_FALSE(Deadline::after(1h).passed());
  EXPECT_EQ(Deadline::after(std::chrono::nanoseconds::max()).left(), std::nullopt) << "too far to count is never";
}

}  // namespace
}  // namespace ronde
