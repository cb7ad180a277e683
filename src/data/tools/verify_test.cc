#include "ronde/data/tools/verify.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "ronde/data/formats/pack/pack_format.h"
#include "ronde/data/formats/pack/pack_make.h"
#include "ronde/data/formats/tar/tar_format.h"
#include "ronde/data/formats/testing/memory_records.h"
#include "ronde/data/testing/folder.h"
#include "ronde/data/tools/inspect.h"

namespace ronde::data {
namespace {

namespace fs = std::filesystem;

void damage(const fs::path& file, std::streamoff at) {
  std::fstream out(file, std::ios::in | std::ios::out | std::ios::binary);
  out.seekg(at);
  const char byte = static_cast<char>(out.get() ^ 0x55);
  out.seekp(at);
  out.put(byte);
}

class VerifyTest : public testing::Test {
 protected:
  VerifyTest() { files::make_pack(files::MemoryRecords(50), {.folder = path(), .shard_bytes = 4096}); }
  fs::path path() const { return folder_.path() / "pack"; }
  std::string shard(int i) const { return (path() / fmt::format("data-{:05}.pack", i)).string(); }

  Folder folder_;
};

TEST_F(VerifyTest, SoundPack) {
  std::atomic<std::int64_t> told{0};
  const Verification found = verify(
      {.records = {.path = path()}, .threads = 3, .progress = [&](std::int64_t, std::int64_t all) { told = all; }});
  EXPECT_EQ(found.samples, 50);
  EXPECT_EQ(told, 50);
  EXPECT_GT(found.bytes, 50u * 200);
  EXPECT_TRUE(found.bad.empty());
}

TEST_F(VerifyTest, EveryBadSampleIsNamed) {
  damage(shard(0), 64 + 30);
  damage(shard(1), 64 + 30);
  const Verification found = verify({.records = {.path = path()}});
  ASSERT_EQ(found.bad.size(), 4u);  // two records, two files
  EXPECT_EQ(found.bad[0].index, 0);
  EXPECT_EQ(found.bad[0].where, shard(0) + " at byte 64");
  EXPECT_EQ(found.bad[0].why, shard(0) + ": byte 64: the checksum of record 0 does not match");
  EXPECT_EQ(found.bad[1].where, shard(1) + " at byte 64");
  EXPECT_EQ(found.bad[2].index, -1);
}

TEST_F(VerifyTest, BytesThatNoRecordCoversAreCheckedToo) {
  // Between records there are zeros that nobody reads.
  std::ifstream in(shard(0), std::ios::binary);
  const std::string file{std::istreambuf_iterator<char>(in), {}};
  const files::PackIndex index = files::parse_pack_shard(file, "s");
  std::int64_t record = 0;
  while (index.place(record).bytes % 8 == 0) ++record;
  damage(shard(0), static_cast<std::streamoff>(index.place(record).offset + index.place(record).bytes));
  const Verification found = verify({.records = {.path = path()}});
  ASSERT_EQ(found.bad.size(), 1u);
  EXPECT_EQ(found.bad[0].where, shard(0));
  EXPECT_EQ(found.bad[0].why, "the checksum of the file differs from that in pack.json");
}

TEST_F(VerifyTest, DamagedIndexSpoilsItsShardAlone) {
  damage(shard(0), static_cast<std::streamoff>(fs::file_size(shard(0))) - 70);
  const Verification found = verify({.records = {.path = path()}});
  EXPECT_GT(found.bad.size(), 5u);
  EXPECT_LT(found.bad.size(), 25u);
  for (const auto& bad : found.bad)
    EXPECT_TRUE(bad.why.find("the index is damaged") != std::string::npos || bad.index == -1) << bad.why;
}

TEST(VerifyTar, ClassesAndPictures) {
  const Folder folder;
  std::string tar;
  files::append_tar_member(tar, "a.jpg", "no picture");
  files::append_tar_member(tar, "b.jpg", "");
  files::append_tar_member(tar, "c.cls", "x");
  files::append_tar_member(tar, "d.txt", "fine");
  files::append_tar_end(tar);
  std::ofstream(folder.path() / "t.tar", std::ios::binary) << tar;
  const Verification found = verify({.records = {.path = folder.path() / "t.tar"}});
  ASSERT_EQ(found.bad.size(), 3u);
  EXPECT_TRUE(found.bad[0].where.ends_with("t.tar at byte 512 ('a')"));
  EXPECT_EQ(found.bad[1].why, "the picture is an empty file");
  EXPECT_EQ(found.bad[2].index, 2);
}

TEST_F(VerifyTest, InspectionTellsWhatThereIs) {
  const Inspection found = inspect({.path = path()}, 10);
  EXPECT_EQ(found.format, "pack");
  EXPECT_EQ(found.samples, 50);
  EXPECT_EQ(found.read, 10);
  EXPECT_GT(found.files, 3);
  EXPECT_EQ(found.keys.size(), 5u);
  EXPECT_EQ(found.keys[1], "m1");
  ASSERT_EQ(found.arrays.size(), 4u);  // by name
  EXPECT_EQ(found.arrays[0].name, "blob");
  EXPECT_EQ(found.arrays[0].type, "u8[?]");
  EXPECT_EQ(found.arrays[1].type, "i64");
  EXPECT_EQ(found.arrays[3].type, "f32[2]");
  EXPECT_LE(found.sizes.least, found.sizes.median);
  EXPECT_LT(found.sizes.least, found.sizes.most);
  EXPECT_TRUE(found.bad.empty());
  damage(shard(0), 64 + 30);
  EXPECT_EQ(inspect({.path = path()}, 10).bad.size(), 1u);
}

}  // namespace
}  // namespace ronde::data
