#include "ronde/trace/file/trace_file.h"

#include <signal.h>
#include <sys/resource.h>

#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/base/testing/folder.h"

namespace ronde::trace::detail {
namespace {

std::string content(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct TraceFileTest : testing::Test {
  const tests::Folder kept;
  const std::filesystem::path folder = kept.path();
};

TEST_F(TraceFileTest, MakesItsFolderAndReplacesWhatWasThere) {
  const auto path = folder / "a" / "b" / "t";
  TraceFile(path).append("older and longer");
  TraceFile file(path);
  file.append("new");
  file.append("er");
  EXPECT_EQ(content(path), "newer");
}

TEST_F(TraceFileTest, NamesTheFileThatCannotBeMade) {
  std::ofstream(folder / "plain") << "x";
  try {
    TraceFile file(folder / "plain" / "t");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::System);
    EXPECT_NE(error.message().find("plain"), std::string::npos);
  }
}

TEST_F(TraceFileTest, TwoCannotWriteOneFile) {
  TraceFile first(folder / "t");
  first.append("kept");
  EXPECT_THROW(TraceFile(folder / "t"), Error);
  EXPECT_EQ(content(folder / "t"), "kept");
}

// A limit on the size of files stands for a disk that fills up in the middle of a write.
TEST_F(TraceFileTest, APieceThatDidNotGetInWholeIsCutOffAgain) {
  const auto path = folder / "t";
  TraceFile file(path);
  file.append("whole");
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  const rlimit tight{.rlim_cur = 1000, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tight), 0);
  EXPECT_THROW(file.append(std::string(4000, 'x')), Error);
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, handler);
  EXPECT_EQ(content(path), "whole");
}

}  // namespace
}  // namespace ronde::trace::detail
