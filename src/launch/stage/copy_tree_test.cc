#include "ronde/launch/stage/copy_tree.h"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "ronde/base/error.h"

namespace ronde::launch::detail {
namespace {

namespace fs = std::filesystem;

class CopyTree : public testing::Test {
 protected:
  CopyTree() {
    fs::create_directories(from_ / "sub/deep");
    fs::create_directories(from_ / "empty");
    write("a", "first");
    write("sub/deep/b", std::string((64 << 20) + 12345, 'b'));  // more than a piece
    write("none", "");
    fs::create_symlink("a", from_ / "link");
    fs::create_symlink("/nowhere", from_ / "broken");
  }
  ~CopyTree() override { fs::remove_all(root_); }

  void write(const char* name, const std::string& text) { std::ofstream(from_ / name, std::ios::binary) << text; }
  static std::string read(const fs::path& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  Entries list(const fs::path& root) { return list_tree(root, 3, stop_); }

  fs::path root_ = fs::path(testing::TempDir()) / ("copy-tree-" + std::to_string(getpid()));
  fs::path from_ = root_ / "from", to_ = root_ / "to";
  std::atomic<bool> stop_{false};
};

TEST_F(CopyTree, AllIsThereWithItsTimes) {
  const Entries entries = list(from_);
  EXPECT_EQ(entries.size(), 8u);
  EXPECT_EQ(count_files(entries), 3u);
  EXPECT_EQ(total_bytes(entries), (64u << 20) + 12345 + 5);
  EXPECT_GE(bytes_on_disk(entries), total_bytes(entries));
  Progress progress;
  fs::create_directories(to_);
  copy_tree(entries, from_, to_, 3, progress);
  EXPECT_EQ(fingerprint(list(to_)), fingerprint(entries));
  EXPECT_EQ(progress.done, total_bytes(entries));
  EXPECT_EQ(read(to_ / "a"), "first");
  EXPECT_TRUE(read(to_ / "sub/deep/b") == read(from_ / "sub/deep/b"));
  EXPECT_EQ(fs::read_symlink(to_ / "broken"), "/nowhere");
}

TEST_F(CopyTree, OverwritesWhatIsLongerAndLeavesWhatIsNotItsOwn) {
  fs::create_directories(to_);
  std::ofstream(to_ / "a") << "something longer than before";
  std::ofstream(to_ / "other") << "mine";
  Progress progress;
  copy_tree(list(from_), from_, to_, 2, progress);
  EXPECT_EQ(read(to_ / "a"), "first");
  EXPECT_EQ(read(to_ / "other"), "mine");
}

TEST_F(CopyTree, OneFile) {
  Progress progress;
  copy_tree(list(from_ / "a"), from_ / "a", root_ / "b", 2, progress);
  EXPECT_EQ(read(root_ / "b"), "first");
}

TEST_F(CopyTree, SaysWhichFileFailed) {
  const Entries entries = list(from_);
  fs::remove(from_ / "a");
  fs::create_directories(to_);
  Progress progress;
  try {
    copy_tree(entries, from_, to_, 2, progress);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(error.message().find((from_ / "a").string() + ": No such file"), std::string::npos) << error.message();
  }
}

TEST_F(CopyTree, AFileThatShrinksMeanwhileIsAnError) {
  const Entries entries = list(from_);
  write("a", "f");
  fs::create_directories(to_);
  Progress progress;
  EXPECT_THROW(copy_tree(entries, from_, to_, 2, progress), Error);
}

TEST_F(CopyTree, StopsWhenTold) {
  Progress progress;
  progress.stop = true;
  fs::create_directories(to_);
  copy_tree(list(from_), from_, to_, 2, progress);
  EXPECT_EQ(progress.done, 0u);
}

TEST_F(CopyTree, ListsRefuseWhatIsNeitherFileNorFolder) {
  ASSERT_EQ(mkfifo((from_ / "pipe").c_str(), 0600), 0);
  EXPECT_THROW(list(from_), Error);
  EXPECT_THROW(list(root_ / "not-there"), Error);
}

}  // namespace
}  // namespace ronde::launch::detail
