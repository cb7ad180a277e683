#include "ronde/data/formats/pack/pack_make.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "ronde/data/formats/pack/pack.h"
#include "ronde/data/formats/testing/memory_records.h"
#include "ronde/data/testing/folder.h"

namespace ronde::data::files {
namespace {

namespace fs = std::filesystem;

// All files of a folder.
std::map<std::string, std::string> files_of(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    std::ifstream in(entry.path(), std::ios::binary);
    files[entry.path().filename().string()] = {std::istreambuf_iterator<char>(in), {}};
  }
  return files;
}

// A disk that fails at one sample; what is finished before it stays, as of a program that is killed there.
class Interrupted : public MemoryRecords {
 public:
  Interrupted(std::int64_t samples, std::int64_t at) : MemoryRecords(samples), at_(at) {}
  Sample read(std::int64_t index) const override {
    if (index == at_) throw Error::system(EIO, "cannot read it");
    return MemoryRecords::read(index);
  }

 private:
  const std::int64_t at_;
};

// Sees to it that the second shard finds no room: where it will be written, there is a device that is always full.
class NoRoom : public MemoryRecords {
 public:
  NoRoom(std::int64_t samples, fs::path second) : MemoryRecords(samples), second_(std::move(second)) {}
  Sample read(std::int64_t index) const override {
    if (index == 0) fs::create_symlink("/dev/full", second_);
    return MemoryRecords::read(index);
  }

 private:
  const fs::path second_;
};

class PackMakeTest : public testing::Test {
 protected:
  fs::path at(const char* name) const { return folder_.path() / name; }
  PackOptions options(const char* name, int threads = 2) const {
    return {.folder = at(name), .shard_bytes = 4096, .threads = threads};
  }

  Folder folder_;
};

TEST_F(PackMakeTest, SameBytesForAnyNumberOfThreads) {
  const MemoryRecords records(100);
  make_pack(records, options("one", 1));
  make_pack(records, options("eight", 8));
  EXPECT_EQ(files_of(at("one")), files_of(at("eight")));
  for (const auto& [name, bytes] : files_of(at("one")))
    EXPECT_LT(bytes.size(), name.ends_with(".pack") ? 4096u + 1024 : 65536u) << name;  // a shard, and its index
}

TEST_F(PackMakeTest, GoingOnGivesTheSameBytes) {
  MemoryRecords records(100);
  records.bad = {3, 40, 77};
  make_pack(records, options("whole"));
  for (const std::int64_t stop : {0, 5, 30, 60, 99}) {
    fs::remove_all(at("again"));
    Interrupted interrupted(100, stop);
    interrupted.bad = records.bad;
    try {
      make_pack(interrupted, options("again"));
      FAIL() << "a disk that fails must not leave samples out";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::System);
      EXPECT_EQ(error.exit_code(), 1);
      EXPECT_EQ(error.message(), "memory/" + std::to_string(stop) + ": cannot read it: Input/output error");
    }
    EXPECT_EQ(fs::exists(at("again") / "pack.json"), false);
    const Packed packed = make_pack(records, options("again", 1));
    EXPECT_EQ(packed.went_on_at > 0, stop >= 30) << stop;
    EXPECT_LE(packed.went_on_at, stop);
    EXPECT_EQ(files_of(at("again")), files_of(at("whole"))) << stop;
  }
}

TEST_F(PackMakeTest, BadSamplesAreLeftOutAndNamed) {
  MemoryRecords records(20);
  records.bad = {7, 13};
  const Packed packed = make_pack(records, options("p"));
  EXPECT_EQ(packed.manifest.samples(), 18);
  EXPECT_EQ(packed.manifest.skipped,
            (std::vector<PackSkipped>{{7, "memory/7", "it is bad"}, {13, "memory/13", "it is bad"}}));
  EXPECT_EQ(open_pack({.path = at("p")})->key(7), "m8");
  auto strict = options("strict");
  strict.stop_on_error = true;
  EXPECT_EQ(message_of([&] { make_pack(records, strict); }), "memory/7: it is bad");
  for (std::int64_t i = 0; i < 20; ++i) records.bad.insert(i);
  EXPECT_EQ(message_of([&] { make_pack(records, options("none")); }),
            "none of the samples of memory can be read; the first error: it is bad");
}

TEST_F(PackMakeTest, ShuffledHoldsEverySampleOnce) {
  const MemoryRecords records(100);
  auto shuffled = options("s");
  shuffled.shuffle_seed = 5;
  make_pack(records, shuffled);
  const auto pack = open_pack({.path = at("s")});
  std::set<std::string> keys;
  int in_place = 0;
  for (int i = 0; i < 100; ++i) {
    keys.insert(pack->key(i));
    in_place += pack->key(i) == records.key(i);
    EXPECT_EQ("m" + std::to_string(static_cast<int>(pack->read(i).at("pair").values<float>()[0])), pack->key(i));
  }
  EXPECT_EQ(keys.size(), 100u);
  EXPECT_LT(in_place, 10);
}

TEST_F(PackMakeTest, SameAgainIsNothingToDo) {
  const MemoryRecords records(20);
  make_pack(records, options("p"));
  const Packed again = make_pack(records, options("p"));
  EXPECT_TRUE(again.was_there);
  EXPECT_EQ(again.manifest.samples(), 20);
  auto other = options("p");
  other.shuffle_seed = 1;
  EXPECT_NE(message_of([&] { make_pack(records, other); }).find("holds another pack (20 samples of memory"),
            std::string::npos);
  other.overwrite = true;  // only what is not finished
  EXPECT_NE(message_of([&] { make_pack(records, other); }), "nothing was thrown");
}

TEST_F(PackMakeTest, AnotherThatWasBegunIsRefusedOrBeginsAnew) {
  message_of([&] { make_pack(Interrupted(100, 60), options("p")); });
  auto other = options("p");
  other.shuffle_seed = 1;
  EXPECT_NE(message_of([&] { make_pack(MemoryRecords(100), other); }).find("start over with --overwrite"),
            std::string::npos);
  other.overwrite = true;
  EXPECT_EQ(make_pack(MemoryRecords(100), other).went_on_at, 0);
  other.folder = at("whole");
  make_pack(MemoryRecords(100), other);
  EXPECT_EQ(files_of(at("p")), files_of(at("whole")));
}

TEST_F(PackMakeTest, FinishedShardThatIsGone) {
  const Interrupted interrupted(100, 60);
  message_of([&] { make_pack(interrupted, options("p")); });
  fs::remove(at("p") / "data-00000.pack");
  EXPECT_EQ(message_of([&] { make_pack(MemoryRecords(100), options("p")); }),
            (at("p") / "data-00000.pack").string() + " does not exist");
}

TEST_F(PackMakeTest, FullDiskLeavesWhatIsFinished) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "there is no /dev/full";
  fs::create_directories(at("p"));
  NoRoom records(100, at("p") / ".data-00001.pack.partial");
  const std::string message = message_of([&] { make_pack(records, options("p")); });
  EXPECT_NE(message.find("cannot write " + (at("p") / ".data-00001.pack.partial").string()), std::string::npos);
  EXPECT_NE(message.find("No space left on device"), std::string::npos) << message;
  EXPECT_GT(make_pack(MemoryRecords(100), options("p")).went_on_at, 0);
  make_pack(MemoryRecords(100), options("whole"));
  EXPECT_EQ(files_of(at("p")), files_of(at("whole")));
}

TEST_F(PackMakeTest, OptionsThatCannotBe) {
  const MemoryRecords records(3);
  const auto complain = [&](PackOptions options) {
    options.folder = at("p");
    return message_of([&] { make_pack(records, options); });
  };
  EXPECT_NE(complain({.shard_bytes = 10}), "");
  EXPECT_NE(complain({.short_side = -1}), "");
  EXPECT_NE(complain({.quality = 0}), "");
  EXPECT_EQ(message_of([&] { make_pack(MemoryRecords(0), options("p")); }), "memory holds no samples");
}

// Pictures: one that is none is left out; others are stored smaller.
class PictureRecords : public MemoryRecords {
 public:
  using MemoryRecords::MemoryRecords;
  Sample read(std::int64_t) const override {
    Sample sample;
    sample.set("image", Array::bytes_of("\xff\xd8\xff no more than that"));
    return sample;
  }
};

TEST_F(PackMakeTest, WhatIsNoPictureIsLeftOut) {
  const std::string message = message_of([&] { make_pack(PictureRecords(2), options("p")); });
  EXPECT_TRUE(message.starts_with("none of the samples of memory can be read; the first error: ")) << message;
}

}  // namespace
}  // namespace ronde::data::files
