#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/base/testing/folder.h"
#include "ronde/bench/detail/roofline_disk.h"
#include "ronde/bench/detail/roofline_memory.h"

namespace ronde::bench::detail {
namespace {

TEST(Roofline, MemoryIsMeasuredByAnyNumberOfThreads) {
  for (const int threads : {1, 2, 3}) {
    const double rate = triad_gb_s({.threads = threads, .bytes = 3 << 20, .seconds = 0.01});
    EXPECT_GT(rate, 0.01) << threads;
    EXPECT_LT(rate, 1e5) << threads;
  }
}

TEST(Roofline, OneRoundAtLeastIsTimed) {
  EXPECT_GT(triad_gb_s({.threads = 2, .bytes = 1 << 20, .seconds = 0}), 0);
}

TEST(Roofline, MoreMemoryThanThereIsFails) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the address sanitizer ends a program that asks for so much";
#endif
  EXPECT_THROW(triad_gb_s({.threads = 2, .bytes = std::size_t{1} << 50, .seconds = 0.01}), Error);
}

TEST(Roofline, ADiskIsReadAndNothingIsLeft) {
  const tests::Folder folder;
  const DiskRead read = measure_disk(folder.path(), 8 << 20);
  EXPECT_GT(read.gb_s, 1e-4);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(Roofline, AFolderThatIsNoneIsNamed) {
  try {
    measure_disk("/nowhere/at/all", 8 << 20);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), 2);
    EXPECT_NE(std::string(error.what()).find("/nowhere/at/all"), std::string::npos);
  }
}

}  // namespace
}  // namespace ronde::bench::detail
