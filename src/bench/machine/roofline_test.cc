#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/base/testing/folder.h"
#include "ronde/bench/machine/roofline_disk.h"

namespace ronde::bench::detail {
namespace {

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
