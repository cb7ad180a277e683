#include "ronde/data/formats/proto/lmdb.h"

#include <gtest/gtest.h>

#include "ronde/base/wire/proto_writer.h"
#include "ronde/data/formats/proto/lmdb_pages.h"
#include "ronde/data/testing/lmdb_file.h"
#include "ronde/data/testing/records.h"
#include "ronde/data/tools/record_writer.h"

namespace ronde::data::files {
namespace {

const std::string kJpeg = "\xff\xd8\xff\xe0 not much of a picture";

TEST(Lmdb, OurPagesHoldWhatTheLibraryWrote) {
  const Folder folder;
  // Several levels of pages, values inside of pages and on pages of their own.
  std::map<std::string, std::string> entries;
  for (int i = 0; i < 3000; ++i)
    entries["key" + std::to_string(i * 7919 % 3000)] =
        std::string(static_cast<std::size_t>(i % 50 == 0 ? 9000 + i : i % 90), 'v') + std::to_string(i);
  write_lmdb(folder.path(), entries);
  const std::string file = read_text(folder.path() / "data.mdb");
  auto expected = entries.begin();
  scan_lmdb(file, "f", [&](const LmdbEntry& entry) {
    ASSERT_NE(expected, entries.end());
    EXPECT_EQ(entry.key, expected->first);
    EXPECT_EQ(file.substr(entry.offset, entry.bytes), expected->second);
    ++expected;
  });
  EXPECT_EQ(expected, entries.end());
  EXPECT_EQ(count_lmdb(file, "f"), 3000u);
}

TEST(Lmdb, PicturesHaveTheirClassInTheKey) {
  const Folder folder;
  write_lmdb(folder.path(), {{"dog/2.jpg", kJpeg}, {"cat/1.jpg", kJpeg + "!"}, {"__len__", "2"}});
  const auto records = open_records({.path = folder.path()});
  ASSERT_EQ(records->size(), 2);
  EXPECT_EQ(records->classes(), (std::vector<std::string>{"cat", "dog"}));
  EXPECT_EQ(records->read(0).at("image").text(), kJpeg + "!");
  EXPECT_EQ(class_of(records->read(1)), 1);
  EXPECT_EQ(records->key(1), "dog/2.jpg");
}

TEST(Lmdb, NamesOfClassesAreKeptInIt) {
  const Folder folder;
  std::vector<std::string> names;
  for (int i = 0; i < 100; ++i) names.push_back("the class with number " + std::to_string(i));
  const auto writer = make_writer({.path = folder.path() / "a", .format = "lmdb", .classes = names});
  Sample sample;
  sample.set("image", Array::bytes_of(kJpeg));
  sample.set("class", Array::scalar<std::int64_t>(99));
  writer->add(sample, "k");
  writer->finish();
  const auto records = open_records({.path = folder.path() / "a"});
  EXPECT_EQ(records->size(), 1);
  EXPECT_EQ(records->classes(), names);
}

TEST(Lmdb, CaffesDatumIsRead) {
  const Folder folder;
  std::string datum;
  for (const std::uint32_t field : {1u, 2u, 3u}) ProtoWriter(datum).varint(field, 1);
  ProtoWriter(datum).bytes(4, "x");
  ProtoWriter(datum).varint(5, 6);
  write_lmdb(folder.path(), {{"00000000", datum}});
  const auto records = open_records({.path = folder.path() / "data.mdb"});
  EXPECT_EQ(records->read(0).at("image").shape(), (Shape{1, 1, 1}));
  EXPECT_EQ(class_of(records->read(0)), 6);
}

TEST(Lmdb, WhatIsNoSampleSaysWhy) {
  const Folder folder;
  write_lmdb(folder.path(), {{"a", std::string("\x80\x04\x95")}});
  EXPECT_NE(first_error({.path = folder.path()}).find("the value is a Python pickle"), std::string::npos);
  const Folder other;
  write_lmdb(other.path(), {{"a", "hello"}});
  EXPECT_NE(first_error({.path = other.path()}).find("the value is not a picture"), std::string::npos);
  const Folder empty;
  write_lmdb(empty.path(), {});
  EXPECT_NE(first_error({.path = empty.path()}).find("holds no samples"), std::string::npos);
  EXPECT_NE(first_error({.path = empty.path() / "no", .format = "lmdb"}).find("does not exist"), std::string::npos);
}

// Nothing that a file says may lead outside of it: half of the file, or any byte of it changed.
TEST(Lmdb, CutsAndDamageAreErrorsAndNeverCrashes) {
  const Folder folder;
  std::map<std::string, std::string> entries;
  for (int i = 0; i < 40; ++i) entries["k" + std::to_string(i)] = std::string(i == 7 ? 9000u : 100u, 'v');
  write_lmdb(folder.path(), entries);
  const std::string whole = read_text(folder.path() / "data.mdb");
  const auto scan = [](const std::string& file) {
    std::size_t sum = 0;
    const std::string error = message_of([&] {
      scan_lmdb(file, "f", [&](const LmdbEntry& entry) { sum += file.at(entry.offset + entry.bytes - 1) != 0; });
    });
    return error;
  };
  EXPECT_EQ(scan(whole), "");
  // The library leaves the pages of earlier states in the file: the last page that is used ends what may not be cut.
  std::size_t used = 0;
  scan_lmdb(whole, "f", [&](const LmdbEntry& entry) { used = std::max(used, entry.offset + entry.bytes); });
  for (std::size_t size = 0; size < used; size += size < 300 ? 1 : 97) {
    const std::string error = scan(whole.substr(0, size));
    EXPECT_TRUE(error.starts_with("f: ")) << size << ": " << error;
  }
  std::string damaged = whole;
  for (std::size_t at = 0; at < whole.size(); at += at % 4096 < 200 ? 1 : 53)
    for (const int change : {1, 255}) {
      damaged[at] = static_cast<char>(whole[at] ^ change);
      scan(damaged);
      damaged[at] = whole[at];
    }
  EXPECT_EQ(scan(std::string(10000, 'x')), "f: byte 16: not an LMDB file (of a 64-bit machine)");
}

}  // namespace
}  // namespace ronde::data::files
