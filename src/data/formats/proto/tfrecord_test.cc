#include "ronde/data/formats/proto/tfrecord.h"

#include <gtest/gtest.h>

#include "ronde/base/wire/tfrecord.h"
#include "ronde/data/formats/naming.h"
#include "ronde/data/formats/proto/example.h"
#include "ronde/data/formats/proto/tfrecord_framing.h"
#include "ronde/data/testing/records.h"

namespace ronde::data::files {
namespace {

std::string record(const std::string& picture, std::int64_t label) {
  Sample sample;
  sample.set("image/encoded", Array::bytes_of(picture));
  sample.set("image/class/label", Array::scalar<std::int64_t>(label));
  std::string bytes;
  append_tfrecord(bytes, encode_example(sample));
  return bytes;
}

TEST(TfRecords, AnyRecordOfAnyShardIsRead) {
  const Folder folder;
  write_text(folder.path() / "t-0-of-2", record("aa", 0) + record("b", 1));
  write_text(folder.path() / "t-1-of-2", record("cccc", 2));
  const auto records = open_records({.path = folder.path()});
  ASSERT_EQ(records->size(), 3);
  EXPECT_EQ(records->read(2).at("image").text(), "cccc");
  EXPECT_EQ(records->read(0).at("image").text(), "aa");
  EXPECT_EQ(class_of(records->read(1)), 1);
  EXPECT_EQ(records->where(2), folder.text() + "/t-1-of-2 at byte 0");
  EXPECT_EQ(records->key(1), "t-0-of-2:1");
  EXPECT_EQ(records->chunks(), (std::vector<Range>{{0, 2}, {2, 3}}));
  for (std::int64_t i = 0; i < 3; ++i) EXPECT_GE(records->bytes(i), records->read(i).bytes());
}

TEST(TfRecords, TheIndexIsKeptUntilAFileChanges) {
  const Folder folder;
  const auto file = folder.path() / "a.tfrecord";
  write_text(file, record("aa", 0));
  int scans = 0;
  const auto size = [&] {
    return open_records({.path = file, .progress = [&](std::int64_t, std::int64_t) { ++scans; }})->size();
  };
  EXPECT_EQ(size(), 1);
  EXPECT_EQ(size(), 1);
  EXPECT_EQ(scans, 1);
  const auto index = folder.path() / ".a.tfrecord.tfrecord.ronde-index";
  ASSERT_TRUE(std::filesystem::exists(index));
  std::string damaged = read_text(index);
  damaged[damaged.size() / 2] ^= 1;
  write_text(index, damaged);
  EXPECT_EQ(size(), 1);
  EXPECT_EQ(scans, 2);
  write_text(file, record("aa", 0) + record("b", 1));
  EXPECT_EQ(size(), 2);
  EXPECT_EQ(scans, 3);
}

TEST(TfRecords, DamageAndCutsSayWhere) {
  const Folder folder;
  const auto file = folder.path() / "a.tfrecord";
  const std::string first = record("aa", 0);
  write_text(file, first + record("b", 1));
  EXPECT_EQ(check_cuts(file, {.path = file}, [&](std::size_t size) { return size == first.size(); }), "");
  const std::string whole = read_text(file);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] ^= 16;
    write_text(file, damaged);
    const std::string error = first_error({.path = file});
    EXPECT_NE(error.find("a.tfrecord: byte "), std::string::npos) << at << error;
    EXPECT_NE(error.find("checksum"), std::string::npos) << at << error;
  }
}

TEST(TfRecords, WhatCannotBeReadSaysWhy) {
  const Folder folder;
  const auto file = folder.path() / "a.tfrecord";
  write_text(file, record("aa", -7));
  EXPECT_EQ(first_error({.path = file}), file.string() + " at byte 0: class is -7, but classes count from 0");
  write_text(file, "");
  EXPECT_EQ(first_error({.path = file}), file.string() + " holds no records");
  write_text(file, "\x1f\x8b\x08zzzzzzzzzzzzzzzzzzz");
  EXPECT_NE(first_error({.path = file}).find("compressed with gzip"), std::string::npos);
  write_text(file, record("aa", 2));
  write_classes(file, {"ant", "bee"});
  EXPECT_EQ(first_error({.path = file}),
            file.string() + " at byte 0: class is 2, but there are 2 classes, counted from 0");
  EXPECT_EQ(first_error({.path = file / "b.tfrecord"}), file.string() + "/b.tfrecord does not exist");
}

}  // namespace
}  // namespace ronde::data::files
