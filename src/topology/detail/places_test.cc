#include "ronde/topology/detail/places.h"

#include <gtest/gtest.h>

namespace ronde::topology::detail {
namespace {

TEST(Places, AreWrittenAsOpenMpReadsThem) {
  EXPECT_EQ(format_places({}), "");
  EXPECT_EQ(format_places({{3}}), "{3}");
  EXPECT_EQ(format_places({{0}, {1}, {2}, {3}}), "{0}:4");
  EXPECT_EQ(format_places({{0}, {2}, {4}}), "{0}:3:2");
  EXPECT_EQ(format_places({{0}, {1}, {8}, {9}, {20}}), "{0}:2,{8}:2,{20}");
  EXPECT_EQ(format_places({{0, 64}, {1, 65}}), "{0,64},{1,65}");
  EXPECT_EQ(format_places({{0, 1, 2, 3, 8, 9}}), "{0:4,8:2}");
  EXPECT_EQ(format_places({{4}, {2}}), "{4},{2}");
}

}  // namespace
}  // namespace ronde::topology::detail
