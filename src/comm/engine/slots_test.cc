#include "ronde/comm/engine/slots.h"

#include <gtest/gtest.h>

namespace ronde::comm::detail {
namespace {

TEST(Slots, AreAsFewAsAreNeededAtOnce) {
  Slots slots;
  EXPECT_EQ(slots.take(), 1u);
  EXPECT_EQ(slots.take(), 2u);
  EXPECT_EQ(slots.take(), 3u);
  slots.give_back(3);
  slots.give_back(1);
  EXPECT_EQ(slots.take(), 1u) << "the lowest";
  EXPECT_EQ(slots.take(), 3u);
  EXPECT_EQ(slots.take(), 4u);
  for (int i = 0; i < 1000; ++i) {
    slots.give_back(2);
    EXPECT_EQ(slots.take(), 2u);
  }
}

}  // namespace
}  // namespace ronde::comm::detail
