#include "ronde/data/formats/images/images.h"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

#include "ronde/data/formats/images/images_index.h"
#include "ronde/data/testing/folder.h"

namespace ronde::data::files {
namespace {

namespace fs = std::filesystem;

void put(const fs::path& path, std::string_view text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

std::string slurp(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Folders that were changed this moment are scanned again; most tests want an index that holds.
void age(const fs::path& folder) {
  const auto then = fs::file_time_type::clock::now() - std::chrono::hours(1);
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_directory()) fs::last_write_time(entry.path(), then);
}

class ImagesTest : public testing::Test {
 protected:
  ImagesTest() {
    put(data() / "dog" / "b.JPG", "bark");
    put(data() / "dog" / "a.png", "woof");
    put(data() / "dog" / "puppies" / "small" / "c.Tiff", "yip");
    put(data() / "cat" / "x.jpeg", "meow");
    put(data() / "cat" / "notes.txt", "no picture");
    put(data() / "cat" / ".hidden.jpg", "no picture either");
    put(data() / "readme.jpg", "not in a class");
    age(data());
  }
  fs::path data() const { return folder_.path() / "data"; }
  std::unique_ptr<Records> open() const { return open_images({.path = data()}); }

  Folder folder_;
};

std::string text_at(const Sample& sample, const char* name) {
  return std::string(sample.at(name).text());
}

TEST_F(ImagesTest, ClassesAndFilesAreSorted) {
  const auto images = open();
  ASSERT_EQ(images->size(), 4);
  EXPECT_EQ(images->classes(), (std::vector<std::string>{"cat", "dog"}));
  const char* keys[] = {"cat/x.jpeg", "dog/a.png", "dog/b.JPG", "dog/puppies/small/c.Tiff"};
  const char* bytes[] = {"meow", "woof", "bark", "yip"};
  for (int i = 0; i < 4; ++i) {
    const Sample sample = images->read(i);
    EXPECT_EQ(images->key(i), keys[i]);
    EXPECT_EQ(text_at(sample, "key"), keys[i]);
    EXPECT_EQ(text_at(sample, "image"), bytes[i]);
    EXPECT_EQ(sample.at("class").number(), i == 0 ? 0 : 1);
    EXPECT_EQ(images->where(i), (data() / keys[i]).string());
    EXPECT_GE(images->bytes(i), sample.bytes());
  }
  EXPECT_EQ(images->chunks(), (std::vector<Range>{{0, 4}}));
}

TEST_F(ImagesTest, SecondOpeningLooksAtNoFile) {
  int told = 0;
  const Progress count = [&](std::int64_t, std::int64_t) { ++told; };
  open_images({.path = data(), .progress = count});
  EXPECT_EQ(told, 1);
  const auto again = open_images({.path = data(), .progress = count});
  EXPECT_EQ(told, 1);  // there was nothing to scan
  EXPECT_EQ(again->read(3).at("image").text(), "yip");
}

TEST_F(ImagesTest, ChangesMakeTheIndexStale) {
  open();
  put(data() / "dog" / "puppies" / "d.jpg", "new, deep");
  EXPECT_EQ(open()->size(), 5);
  put(data() / "emu" / "e.jpg", "new class");
  EXPECT_EQ(open()->size(), 6);
  fs::remove_all(data() / "cat");
  EXPECT_EQ(open()->classes(), (std::vector<std::string>{"dog", "emu"}));
}

TEST_F(ImagesTest, WhatChangesDuringTheScanIsNotBelieved) {
  put(data() / "dog" / "late.jpg", "1");  // now, so a file a moment later might not show in the folder's time
  open();
  int told = 0;
  open_images({.path = data(), .progress = [&](std::int64_t, std::int64_t) { ++told; }});
  EXPECT_EQ(told, 1);
}

TEST_F(ImagesTest, DamagedIndexIsMadeAnew) {
  open();
  const std::string good = slurp(data() / ".ronde-index");
  ASSERT_GT(good.size(), 100u);
  for (std::size_t i = 0; i < good.size(); i += 13) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x41);
    put(data() / ".ronde-index", bad);
    ASSERT_EQ(open()->read(0).at("image").text(), "meow") << i;
    ASSERT_EQ(slurp(data() / ".ronde-index").size(), good.size());
  }
}

TEST_F(ImagesTest, IndexCutOffAnywhereIsRefused) {
  const std::string good = to_index(scan_images(data(), {}));
  for (std::size_t size = 0; size < good.size(); ++size)
    ASSERT_NE(message_of([&] { ImageIndex(std::string_view(good).substr(0, size), "i"); }), "") << size;
  EXPECT_EQ(ImageIndex(good, "i").others(), 1);
}

// A checksum that fits says nothing about who made it.
TEST(ImageIndexTest, ColumnsThatDoNotFitAreRefused) {
  const auto refuse = [](std::vector<Column> columns, std::vector<std::string> texts) {
    const std::string bytes = make_index({.kind = 1, .version = 1}, columns, texts);
    return message_of([&] { ImageIndex(bytes, "i"); });
  };
  const std::vector<std::string> texts{"cat", "cat", "a.jpg"};
  EXPECT_EQ(refuse({{7}, {1}, {5}, {9, 0}}, texts), "");
  EXPECT_NE(refuse({{7}, {2}, {5}, {9, 0}}, texts), "");                  // a class that ends beyond all files
  EXPECT_NE(refuse({{7}, {0}, {5}, {9, 0}}, texts), "");                  // a file in no class
  EXPECT_NE(refuse({{~std::uint64_t{0}}, {1}, {5}, {9, 0}}, texts), "");  // negative, as it were
  EXPECT_NE(refuse({{7}, {1}, {5}, {9}}, texts), "");                     // a column too short
  EXPECT_NE(refuse({{7}, {1}, {5}, {9, 0}}, {"cat", "cat"}), "");         // a file without a name
  EXPECT_NE(refuse({{7, 7}, {2, 1}, {5}, {9, 0}}, {"a", "b", "c", "d", "e"}), "");  // classes that overlap
}

TEST_F(ImagesTest, ReadOnlyFolderKeepsItsIndexInTheCache) {
  // Root may write anywhere, so the place beside the data is made impossible instead: a folder has its name.
  fs::create_directories(data() / ".ronde-index");
  const RecordsOptions options{.path = data(), .cache = folder_.path() / "cache" / "deep"};
  open_images(options);
  EXPECT_EQ(std::distance(fs::directory_iterator(options.cache), {}), 1);
  int told = 0;
  open_images({.path = data(), .cache = options.cache, .progress = [&](std::int64_t, std::int64_t) { ++told; }});
  EXPECT_EQ(told, 0);
}

TEST_F(ImagesTest, FileThatChangedItsSizeIsNamed) {
  const auto images = open();
  put(data() / "dog" / "a.png", "woof woof");
  EXPECT_EQ(message_of([&] { images->read(1); }),
            (data() / "dog" / "a.png").string() + " had 4 bytes when it was indexed and has more now");
  put(data() / "dog" / "a.png", "wo");
  EXPECT_EQ(message_of([&] { images->read(1); }),
            (data() / "dog" / "a.png").string() + " had 4 bytes when it was indexed and has 2 now");
  fs::remove(data() / "dog" / "a.png");
  EXPECT_EQ(message_of([&] { images->read(1); }), (data() / "dog" / "a.png").string() + " does not exist");
}

TEST_F(ImagesTest, EmptyPictureIsASampleOfNoBytes) {
  put(data() / "dog" / "0.jpg", "");
  const auto images = open();
  EXPECT_EQ(images->read(1).at("image").bytes(), 0u);
}

TEST_F(ImagesTest, BadFolders) {
  fs::create_directories(data() / "empty");
  EXPECT_EQ(message_of([&] { open(); }),
            "the class folder " + (data() / "empty").string() + " holds no pictures (jpg, jpeg, png, tif, tiff)");
  EXPECT_EQ(message_of([&] { open_images({.path = data() / "nowhere"}); }),
            "the folder " + (data() / "nowhere").string() + " does not exist");
  EXPECT_EQ(message_of([&] { open_images({.path = data() / "readme.jpg"}); }),
            (data() / "readme.jpg").string() + " is not a folder");
  const std::string flat = (data() / "cat").string();
  EXPECT_EQ(message_of([&] { open_images({.path = flat}); }),
            flat + " has no class folders: put pictures into one folder per class, for example cat/dog/12.jpg");
}

TEST_F(ImagesTest, FolderWithoutPermission) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may read everything";
  fs::permissions(data() / "dog", fs::perms::none);
  EXPECT_EQ(message_of([&] { open(); }), "cannot read the folder " + (data() / "dog").string() + ": permission denied");
  fs::permissions(data() / "dog", fs::perms::owner_all);
}

TEST_F(ImagesTest, LinkThatLeadsBackIsFound) {
  fs::create_directory_symlink(data() / "dog", data() / "dog" / "puppies" / "again");
  EXPECT_NE(message_of([&] { open(); }).find("is there a link to a parent folder?"), std::string::npos);
}

TEST_F(ImagesTest, ManyThreadsReadTheSame) {
  const auto images = open();
  std::atomic<int> wrong{0};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < 200; ++i)
          if (images->read(i % 4).at("image").text() != std::array{"meow", "woof", "bark", "yip"}[i % 4]) ++wrong;
      });
  }
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace ronde::data::files
