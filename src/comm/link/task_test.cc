#include "ronde/comm/link/task.h"

#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

namespace ronde::comm::detail {
namespace {

using Counter = std::atomic<std::uint64_t>;

Task wait_twice(const Counter& counter, std::string& seen) {
  seen += "a";
  co_await reaches(counter, 1);
  seen += "b";
  co_await reaches(counter, 2);
  seen += "c";
}

TEST(Task, StopsWhereItMustWaitAndGoesOnLater) {
  Counter counter = 0;
  std::string seen;
  Task task = wait_twice(counter, seen);
  EXPECT_EQ(seen, "") << "nothing happens before the first advance()";
  EXPECT_FALSE(task.advance());
  EXPECT_EQ(seen, "a");
  EXPECT_FALSE(task.can_advance());
  counter = 1;
  EXPECT_TRUE(task.can_advance());
  EXPECT_FALSE(task.advance());
  counter = 5;
  EXPECT_TRUE(task.advance());
  EXPECT_EQ(seen, "abc");
}

Task outer(const Counter& counter, std::string& seen) {
  co_await wait_twice(counter, seen);
  seen += "|";
  co_await wait_twice(counter, seen);
}

TEST(Task, InnerTasksArePartOfTheOuterOne) {
  Counter counter = 0;
  std::string seen;
  Task task = outer(counter, seen);
  EXPECT_FALSE(task.advance());
  EXPECT_FALSE(task.can_advance());
  counter = 2;
  EXPECT_TRUE(task.advance());
  EXPECT_EQ(seen, "abc|abc");
}

Task fail_after(const Counter& counter) {
  co_await reaches(counter, 1);
  throw std::runtime_error("no");
}
Task outer_of_failure(const Counter& counter) {
  co_await fail_after(counter);
}

TEST(Task, AFailureInsideReachesWhoeverAdvances) {
  Counter counter = 0;
  Task task = outer_of_failure(counter);
  EXPECT_FALSE(task.advance());
  counter = 1;
  EXPECT_THROW(task.advance(), std::runtime_error);
}

Task wait_for_either(const Counter& a, const Counter& b, std::string& seen) {
  co_await until([&] { return a > 0 || b > 0; });
  seen += "x";
}

TEST(Task, WaitsForAnyCondition) {
  Counter a = 0, b = 0;
  std::string seen;
  Task task = wait_for_either(a, b, seen);
  EXPECT_FALSE(task.advance());
  EXPECT_FALSE(task.can_advance());
  b = 1;
  EXPECT_TRUE(task.advance());
  EXPECT_EQ(seen, "x");
}

TEST(Task, CanBeAbandonedInTheMiddle) {
  Counter counter = 0;
  std::string seen;
  {
    Task task = outer(counter, seen);
    EXPECT_FALSE(task.advance());
  }
  EXPECT_EQ(seen, "a");
}

}  // namespace
}  // namespace ronde::comm::detail
