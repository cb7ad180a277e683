#include "ronde/device/unique.h"

#include <type_traits>

#include <gtest/gtest.h>

namespace ronde::device {
namespace {

void count_destroyed(int* destroyed) {
  ++*destroyed;
}
using Counter = Unique<int*, count_destroyed>;

TEST(Unique, DestroysOnceWhoeverHoldsItLast) {
  int destroyed = 0;
  {
    Counter first(&destroyed);
    Counter second(std::move(first));
    EXPECT_FALSE(first);  // NOLINT: a moved-from handle is empty, by contract
    EXPECT_EQ(second.get(), &destroyed);
    EXPECT_EQ(destroyed, 0);
  }
  EXPECT_EQ(destroyed, 1);
}

TEST(Unique, AssignmentDestroysWhatWasHeldBefore) {
  int old = 0;
  int fresh = 0;
  Counter handle(&old);
  handle = Counter(&fresh);
  EXPECT_EQ(old, 1);
  EXPECT_EQ(fresh, 0);
  Counter& self = handle;
  handle = std::move(self);
  EXPECT_EQ(fresh, 0);
  EXPECT_EQ(handle.get(), &fresh);
  static_assert(!std::is_copy_constructible_v<Counter>);
}

}  // namespace
}  // namespace ronde::device
