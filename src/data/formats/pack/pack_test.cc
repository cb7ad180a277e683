#include "ronde/data/formats/pack/pack.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "ronde/data/formats/pack/pack_make.h"
#include "ronde/data/formats/pack/pack_stream.h"
#include "ronde/data/formats/testing/memory_records.h"
#include "ronde/data/testing/folder.h"

namespace ronde::data::files {
namespace {

namespace fs = std::filesystem;

class PackTest : public testing::Test {
 protected:
  PackTest() { make_pack(MemoryRecords(50), {.folder = path(), .shard_bytes = 4096, .threads = 2}); }
  fs::path path() const { return folder_.path() / "pack"; }
  fs::path shard(int i) const { return path() / fmt::format("data-{:05}.pack", i); }
  std::string complaint() const {
    return message_of([&] {
      const auto pack = open_pack({.path = path()});
      for (std::int64_t i = 0; i < pack->size(); ++i) pack->read(i);
    });
  }
  void damage(const fs::path& file, std::streamoff at) const {
    std::fstream out(file, std::ios::in | std::ios::out | std::ios::binary);
    out.seekg(at);
    const char byte = static_cast<char>(out.get() ^ 0x55);
    out.seekp(at);
    out.put(byte);
  }

  Folder folder_;
};

TEST_F(PackTest, HoldsWhatWasPacked) {
  const auto pack = open_pack({.path = path()});
  const MemoryRecords source(50);
  ASSERT_EQ(pack->size(), 50);
  EXPECT_EQ(pack->classes(), source.classes());
  for (int i = 49; i >= 0; --i) {
    EXPECT_EQ(contents(pack->read(i)), contents(source.read(i)));
    EXPECT_EQ(pack->key(i), source.key(i));
    EXPECT_GE(pack->bytes(i), pack->read(i).bytes());
  }
  EXPECT_EQ(pack->where(0), shard(0).string() + " at byte 64");
  EXPECT_EQ(open_records({.path = path()})->size(), 50);
  EXPECT_EQ(open_records({.path = shard(0)})->read(0).at("class").number(), 0);  // one shard alone
}

TEST_F(PackTest, ChunksAreAllSamplesInOrder) {
  const auto chunks = open_pack({.path = path()})->chunks();
  EXPECT_GT(chunks.size(), 3u);  // none of them in two shards
  std::int64_t at = 0;
  for (const Range& chunk : chunks) {
    EXPECT_EQ(chunk.begin, at);
    EXPECT_GT(chunk.size(), 0);
    at = chunk.end;
  }
  EXPECT_EQ(at, 50);
}

TEST_F(PackTest, StreamGivesEveryRecordOnce) {
  const MemoryRecords source(50);
  for (const int readers : {0, 1, 2, 3}) {
    std::int64_t next = 0;
    const auto see = [&](const PassingRecord& record) {
      EXPECT_EQ(record.index, next);
      EXPECT_EQ(record.key, source.key(next++));
      EXPECT_GT(record.bytes.size(), 0u);
    };
    EXPECT_EQ(stream_pack(path(), see, {.readers = readers}), 50) << readers;
    EXPECT_EQ(next, 50) << readers;
  }
}

// Records of some length, so that shards are read in several pieces.
class LongRecords : public Records {
 public:
  std::string name() const override { return "long"; }
  std::int64_t size() const override { return 60; }
  std::size_t bytes(std::int64_t index) const override { return index == 17 ? 700'000 : 50'000; }
  std::string where(std::int64_t index) const override { return std::to_string(index); }
  Sample read(std::int64_t index) const override {
    Sample sample;
    sample.set("bytes", Array::bytes_of(std::string(bytes(index), static_cast<char>('0' + index))));
    return sample;
  }
};

TEST_F(PackTest, StreamOfSeveralReadersKeepsTheOrder) {
  const fs::path folder = folder_.path() / "long";
  make_pack(LongRecords(), {.folder = folder, .shard_bytes = 1'500'000, .threads = 2});
  const LongRecords source;
  for (const int readers : {1, 2, 3}) {
    std::int64_t next = 0;
    const auto see = [&](const PassingRecord& record) {
      EXPECT_EQ(record.index, next);
      EXPECT_EQ(record.bytes.back(), static_cast<char>('0' + next));
      EXPECT_GT(record.bytes.size(), source.bytes(next++));
    };
    EXPECT_EQ(stream_pack(folder, see, {.readers = readers}), 60) << readers;
    std::int64_t seen = 0;  // who has seen enough ends it: nobody waits for ever
    EXPECT_EQ(message_of([&] {
                const auto enough = [&](const PassingRecord&) {
                  if (++seen == 20) throw Error::bad_input("enough");
                };
                stream_pack(folder, enough, {.readers = readers});
              }),
              "enough");
  }
  damage(folder / "data-00001.pack", 64 + 20);  // no record is given in place of one that is damaged
  for (const int readers : {1, 2, 3}) {
    std::int64_t seen = 0;
    const auto count = [&](const PassingRecord&) { ++seen; };
    EXPECT_NE(message_of([&] { stream_pack(folder, count, {.readers = readers}); }).find("data-00001.pack: byte 64"),
              std::string::npos);
    EXPECT_GT(seen, 10);
    EXPECT_LT(seen, 40);
  }
}

TEST_F(PackTest, MissingShardIsNamed) {
  fs::remove(shard(1));
  EXPECT_EQ(complaint(), shard(1).string() + " does not exist, but " + (path() / "pack.json").string() + " names it");
}

TEST_F(PackTest, ShardOfAnotherLength) {
  fs::resize_file(shard(1), fs::file_size(shard(1)) - 1);
  EXPECT_NE(complaint().find(": it was cut off or changed"), std::string::npos);
}

TEST_F(PackTest, DamagedRecordIsNamedWithItsByte) {
  const auto pack = open_pack({.path = path()});
  damage(shard(0), 64 + 20);
  EXPECT_EQ(complaint(), shard(0).string() + ": byte 64: the checksum of record 0 does not match");
  EXPECT_EQ(message_of([&] { stream_pack(path(), [](const PassingRecord&) {}); }),
            shard(0).string() + ": byte 64: the checksum of record 0 does not match");
  EXPECT_EQ(message_of([&] { pack->read(1); }), "");  // the others are as good as before
}

TEST_F(PackTest, ShardThatWasCutOffWhileOpen) {
  const auto pack = open_pack({.path = path()});
  pack->read(0);
  fs::resize_file(shard(0), 100);
  EXPECT_NE(message_of([&] { pack->read(1); }), "");
}

TEST_F(PackTest, UnfinishedPackSaysSo) {
  fs::rename(path() / "pack.json", path() / "pack.partial.json");
  EXPECT_EQ(complaint(),
            "the pack " + path().string() + " is not finished: run the same 'ronde data pack' again to continue");
  EXPECT_EQ(guess_format(path()), "pack");
}

TEST_F(PackTest, IndexDamagedOnceStaysRefused) {
  damage(shard(0), static_cast<std::streamoff>(fs::file_size(shard(0))) - 70);
  const auto pack = open_pack({.path = path()});
  for (int i = 0; i < 2; ++i)
    EXPECT_NE(message_of([&] { pack->read(0); }).find("the index is damaged: its checksum does not match"),
              std::string::npos);
}

}  // namespace
}  // namespace ronde::data::files
