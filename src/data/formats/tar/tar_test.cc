#include "ronde/data/formats/tar/tar.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "ronde/data/formats/tar/tar_format.h"
#include "ronde/data/formats/tar/tar_index.h"
#include "ronde/data/testing/folder.h"

namespace ronde::data::files {
namespace {

namespace fs = std::filesystem;

void put(const fs::path& path, std::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::string slurp(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string tar_of(std::initializer_list<std::pair<std::string, std::string>> files) {
  std::string tar;
  for (const auto& [name, bytes] : files) append_tar_member(tar, name, bytes);
  append_tar_end(tar);
  return tar;
}

class TarTest : public testing::Test {
 protected:
  TarTest() {
    put(at("d-0.tar"), tar_of({{"./x/1.jpg", "one"},
                               {"x/1.CLS", " 3\n"},
                               {"x/1.json", "{}"},
                               {"x/2.v1.seg.png", "mask"},
                               {"README", "no sample"}}));
    put(at("d-1.tar"), tar_of({{"3.png", "png"}, {"3.jpeg", "jpeg"}, {"3.cls", "0"}}));
  }
  fs::path at(const char* name) const { return folder_.path() / name; }
  std::unique_ptr<Records> open(const char* name) const { return open_tar({.path = at(name)}); }

  Folder folder_;
};

TEST_F(TarTest, FilesOfOneNameAreASample) {
  const auto tar = open("d-{0..1}.tar");
  ASSERT_EQ(tar->size(), 3);
  const Sample first = tar->read(0);
  EXPECT_EQ(first.at("image").text(), "one");
  EXPECT_EQ(first.at("class").number(), 3);
  EXPECT_EQ(first.at("json").text(), "{}");
  EXPECT_EQ(first.at("key").text(), "x/1");
  EXPECT_EQ(first.find("jpg"), nullptr);
  EXPECT_EQ(tar->read(1).at("v1.seg.png").text(), "mask");
  const Sample last = tar->read(2);
  EXPECT_EQ(last.at("image").text(), "jpeg");  // jpg, jpeg, png: the first of these
  EXPECT_EQ(last.at("png").text(), "png");
  EXPECT_EQ(tar->key(2), "3");
  EXPECT_EQ(tar->where(2), at("d-1.tar").string() + " at byte 512 ('3')");
  EXPECT_EQ(tar->chunks(), (std::vector<Range>{{0, 2}, {2, 3}}));
  for (int i = 0; i < 3; ++i) EXPECT_GE(tar->bytes(i), tar->read(i).bytes());
  EXPECT_EQ(open_records({.path = folder_.path()})->size(), 3);  // all of a folder
}

TEST_F(TarTest, NamesThatWereAskedFor) {
  const auto tar = open_tar({.path = at("d-1.tar"), .image = "png"});
  EXPECT_EQ(tar->read(0).at("image").text(), "png");
  EXPECT_EQ(message_of([&] { open_tar({.path = at("d-1.tar"), .image = "webp"})->read(0); }),
            at("d-1.tar").string() + " at byte 512 ('3'): the sample has no file that ends in .webp");
}

TEST_F(TarTest, IndexIsKeptAndKnowsItsTar) {
  open("d-0.tar");
  const fs::path index = at(".d-0.tar.ronde-index");
  ASSERT_TRUE(fs::exists(index));
  int told = 0;
  const Progress count = [&](std::int64_t, std::int64_t) { ++told; };
  open_tar({.path = at("d-{0..1}.tar"), .progress = count});
  EXPECT_EQ(told, 1);  // of two, one was not known
  put(at("d-0.tar"), tar_of({{"9.jpg", "other"}}));
  EXPECT_EQ(open("d-0.tar")->read(0).at("image").text(), "other");
  put(index, slurp(index).substr(0, 100));
  EXPECT_EQ(open("d-0.tar")->read(0).at("image").text(), "other");
}

TEST_F(TarTest, BadTars) {
  EXPECT_EQ(message_of([&] { open("d-{0..2}.tar"); }),
            at("d-2.tar").string() + " does not exist, but '" + at("d-{0..2}.tar").string() + "' names it");
  put(at("two.tar"), tar_of({{"a.jpg", "1"}, {"a.jpg", "2"}}));
  EXPECT_EQ(message_of([&] { open("two.tar"); }),
            at("two.tar").string() + ": byte 1024: 'a.jpg' occurs twice in one sample");
  put(at("none.tar"), tar_of({{"README", "1"}}));
  EXPECT_NE(message_of([&] { open("none.tar"); }).find("holds no samples"), std::string::npos);
  put(at("cls.tar"), tar_of({{"a.jpg", "1"}, {"a.cls", "dog"}}));
  EXPECT_EQ(message_of([&] { open("cls.tar")->read(0); }),
            at("cls.tar").string() + " at byte 512 ('a'): .cls holds 'dog', but a class must be a number from 0");
  put(at("neg.tar"), tar_of({{"a.cls", "-1"}}));
  EXPECT_NE(message_of([&] { open("neg.tar")->read(0); }), "");
}

TEST_F(TarTest, TarThatWasCutOffAfterwards) {
  const auto tar = open("d-1.tar");
  fs::resize_file(at("d-1.tar"), 600);
  EXPECT_EQ(message_of([&] { tar->read(0); }),
            at("d-1.tar").string() + ": the file ends at byte 600, inside the sample '3' that begins at byte 512");
}

// A checksum that fits says nothing about who made it.
TEST(TarIndexTest, ColumnsThatDoNotFitAreRefused) {
  const auto complaint = [](std::vector<Column> columns, std::vector<std::string> texts) {
    const std::string bytes = make_index({.kind = 2, .version = 1}, columns, texts);
    return message_of([&] { TarIndex(bytes, "i"); });
  };
  const std::vector<std::string> texts{"jpg", "key"};
  EXPECT_EQ(complaint({{1}, {512}, {3}, {0}, {2048, 7}}, texts), "");
  EXPECT_NE(complaint({{1}, {512}, {1537}, {0}, {2048, 7}}, texts), "");               // beyond the end
  EXPECT_NE(complaint({{1}, {2049}, {0}, {0}, {2048, 7}}, texts), "");                 // begins beyond it
  EXPECT_NE(complaint({{1}, {512}, {~std::uint64_t{0}}, {0}, {2048, 7}}, texts), "");  // negative, as it were
  EXPECT_NE(complaint({{1}, {512}, {3}, {1}, {2048, 7}}, texts), "");                  // no such ending
  EXPECT_NE(complaint({{2}, {512}, {3}, {0}, {2048, 7}}, texts), "");                  // no such file
  EXPECT_NE(complaint({{0}, {}, {}, {}, {2048, 7}}, texts), "");                       // a sample of nothing
  EXPECT_NE(complaint({{1}, {512}, {3}, {0}, {2048}}, texts), "");
}

TEST(TarWriterTest, WhatIsWrittenIsRead) {
  const Folder folder;
  TarWriter writer({.folder = folder.path() / "out", .shard_bytes = 5000});
  for (int i = 0; i < 5; ++i) {
    Sample sample;
    sample.set("image", Array::bytes_of("\xff\xd8\xff" + std::string(1000, static_cast<char>('a' + i))));
    sample.set("class", Array::scalar<std::int64_t>(i));
    sample.set("json", Array::bytes_of("{}"));
    sample.set("key", Array::bytes_of(fmt::format("dir.x/pic.{}.jpg", i)));
    writer.add(sample);
  }
  EXPECT_EQ(writer.finish(), 5);  // 2 KiB of headers and 1.5 KiB of bytes each: one a shard
  const auto tar = open_tar({.path = folder.path() / "out" / "data-{00000..00004}.tar"});
  ASSERT_EQ(tar->size(), 5);
  for (int i = 0; i < 5; ++i) {
    const Sample sample = tar->read(i);
    EXPECT_EQ(sample.at("image").text().substr(3, 2), std::string(2, static_cast<char>('a' + i)));
    EXPECT_EQ(sample.at("class").number(), i);
    EXPECT_EQ(sample.at("key").text(), fmt::format("dir.x/pic_{}", i));
  }
}

TEST(TarWriterTest, WhatATarCannotHold) {
  const Folder folder;
  TarWriter writer({.folder = folder.path()});
  Sample sample;
  sample.set("x", Array(Type::F32, {2}));
  EXPECT_EQ(message_of([&] { writer.add(sample); }),
            "sample '000000000': 'x' is f32[2], but a tar holds bytes only: choose the format pack for arrays");
  EXPECT_EQ(writer.finish(), 0);
}

}  // namespace
}  // namespace ronde::data::files
