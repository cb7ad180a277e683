#include "ronde/base/system/cache.h"

#include <gtest/gtest.h>

namespace ronde {
namespace {

TEST(CacheFolder, WhereUsersHaveTheirs) {
  EXPECT_EQ(cache_folder({{"HOME", "/home/ada"}}), "/home/ada/.cache/ronde");
  EXPECT_EQ(cache_folder({{"HOME", "/home/ada"}, {"XDG_CACHE_HOME", "/fast"}}), "/fast/ronde");
  EXPECT_EQ(cache_folder({{"HOME", "/home/ada"}, {"XDG_CACHE_HOME", "not/absolute"}}), "/home/ada/.cache/ronde");
  EXPECT_EQ(cache_folder({{"HOME", ""}}), "");
  EXPECT_EQ(cache_folder({}), "");
}

}  // namespace
}  // namespace ronde
