#include "ronde/data/formats/shards.h"

#include <gtest/gtest.h>

#include "ronde/data/testing/records.h"

namespace ronde::data::files {
namespace {

using Names = std::vector<std::string>;
const ShardKind kKind{.what = "TFRecord", .endings = {".tfrecord"}, .numbered = true};

TEST(Shards, AreKnownByEndingOrNumber) {
  EXPECT_TRUE(is_shard("a.tfrecord", kKind));
  EXPECT_TRUE(is_shard("train-00000-of-01024", kKind));
  EXPECT_TRUE(is_shard("train-00000-of-01024.tfrecord", kKind));
  EXPECT_FALSE(is_shard("train-00000-of-01024.tar", kKind));
  EXPECT_FALSE(is_shard("best-of-10", kKind));
  EXPECT_FALSE(is_shard("classes.txt", kKind));
}

TEST(Shards, PatternsTakeStarsAndMarks) {
  EXPECT_TRUE(matches("train-1-of-2", "train-*"));
  EXPECT_TRUE(matches("abcbd", "a*b?"));
  EXPECT_TRUE(matches("", "*"));
  EXPECT_FALSE(matches("val-1", "train-*"));
  EXPECT_FALSE(matches("ab", "a?c"));
  EXPECT_FALSE(matches(std::string(5000, 'a'), "*a*a*a*b"));
}

TEST(Shards, AMissingOneIsNamed) {
  EXPECT_EQ(message_of([] { check_complete(Names{"t-0-of-3", "t-2-of-3"}, "f"); }),
            "f: shard t-1-of-3 is missing; 2 of 3 are there");
  EXPECT_EQ(message_of([] { check_complete(Names{"t-00000-of-00002.tfrecord"}, "f"); }),
            "f: shard t-00001-of-00002.tfrecord is missing; 1 of 2 are there");
  EXPECT_EQ(message_of([] { check_complete(Names{"t-0-of-1", "v-0-of-1"}, "f"); }),
            "f holds 2 sets of shards: choose one with f/t-*-of-1 or v-*-of-1");
  EXPECT_NE(message_of([] { check_complete(Names{"t-0-of-1", "t-5-of-1"}, "f"); }), "");
  EXPECT_EQ(message_of([] { check_complete(Names{"t-0-of-2", "t-1-of-2"}, "f"); }), "");
}

TEST(Shards, AreFoundInAFolderOrByAPattern) {
  const Folder folder;
  for (const char* name : {"t-1-of-2", "t-0-of-2", "v-0-of-1", "notes.txt"}) write_text(folder.path() / name, "x");
  EXPECT_EQ(find_shards(folder.path() / "t-*", kKind),
            (Names{folder.text() + "/t-0-of-2", folder.text() + "/t-1-of-2"}));
  EXPECT_EQ(find_shards(folder.path() / "v-0-of-1", kKind), Names{folder.text() + "/v-0-of-1"});
  EXPECT_EQ(find_shards(folder.path() / "t-{0..1}-of-2", kKind).size(), 2u);
  EXPECT_EQ(message_of([&] { find_shards(folder.path() / "t-{0..2}-of-2", kKind); }),
            folder.text() + "/t-2-of-2 does not exist, but '" + folder.text() + "/t-{0..2}-of-2' names it");
  EXPECT_NE(message_of([&] { find_shards(folder.path(), kKind); }).find("holds 2 sets"), std::string::npos);
  EXPECT_EQ(message_of([&] { find_shards(folder.path() / "x-*", kKind); }),
            "no file matches " + folder.text() + "/x-*");
  EXPECT_EQ(message_of([&] { find_shards(folder.path() / "no", kKind); }), folder.text() + "/no does not exist");
  std::filesystem::create_directory(folder.path() / "empty");
  EXPECT_EQ(message_of([&] { find_shards(folder.path() / "empty", kKind); }),
            folder.text() + "/empty holds no TFRecord file (.tfrecord, NAME-00000-of-01024)");
  EXPECT_NE(message_of([&] { find_shards(folder.path() / "notes.txt" / "t-*", kKind); }).find("cannot read the folder"),
            std::string::npos);
}

}  // namespace
}  // namespace ronde::data::files
