#include "ronde/trace/record/intern.h"

#include <string>

#include <gtest/gtest.h>

namespace ronde::trace::detail {
namespace {

TEST(InternTable, OneNumberATextWhereverItIsStored) {
  const std::string first = "reduce", second = "reduce", other = "vote";
  InternTable table;
  const auto a = table.find_or_add(first.c_str());
  EXPECT_EQ(a.id, 1u);
  EXPECT_TRUE(a.fresh);
  EXPECT_FALSE(table.find_or_add(first.c_str()).fresh);
  const auto b = table.find_or_add(second.c_str());
  EXPECT_EQ(b.id, 1u);
  EXPECT_FALSE(b.fresh);
  const auto c = table.find_or_add(other.c_str());
  EXPECT_EQ(c.id, 2u);
  EXPECT_TRUE(c.fresh);
}

}  // namespace
}  // namespace ronde::trace::detail
