#include "ronde/data/formats/shard_names.h"

#include <fstream>

#include <gtest/gtest.h>

#include "ronde/data/testing/folder.h"

namespace ronde::data::files {
namespace {

using Names = std::vector<std::string>;

TEST(ShardNames, Braces) {
  EXPECT_EQ(expand_braces("a.tar"), Names{"a.tar"});
  EXPECT_EQ(expand_braces("d-{008..011}.tar"), (Names{"d-008.tar", "d-009.tar", "d-010.tar", "d-011.tar"}));
  EXPECT_EQ(expand_braces("{9..10}"), (Names{"9", "10"}));
  EXPECT_EQ(expand_braces("{a,b}/{1..2}.tar"), (Names{"a/1.tar", "a/2.tar", "b/1.tar", "b/2.tar"}));
}

TEST(ShardNames, WrongBraces) {
  EXPECT_EQ(message_of([] { expand_braces("a{0..3.tar"); }), "'a{0..3.tar': missing closing brace");
  EXPECT_EQ(message_of([] { expand_braces("{3..1}"); }),
            "'{3..1}': {3..1} is not a range of numbers such as {000..012}");
  EXPECT_NE(message_of([] { expand_braces("{a..c}"); }), "");
  EXPECT_NE(message_of([] { expand_braces("{0..-1}"); }), "");
  EXPECT_NE(message_of([] { expand_braces("{0..18446744073709551615}"); }), "");
  EXPECT_NE(message_of([] { expand_braces("{0..99999}{0..99999}"); }), "");
}

TEST(ShardNames, WhatAPathMeans) {
  const Folder folder;
  for (const char* name : {"d-0.tar", "d-1.tar", "d-3.tar", "other.txt", ".d-9.tar"})
    std::ofstream(folder.path() / name) << "x";
  const auto in = [&](const char* name) { return (folder.path() / name).string(); };
  EXPECT_EQ(find_shards(folder.path(), ".tar"), (Names{in("d-0.tar"), in("d-1.tar"), in("d-3.tar")}));
  EXPECT_EQ(find_shards(in("d-{0..1}.tar"), ".tar"), (Names{in("d-0.tar"), in("d-1.tar")}));
  EXPECT_EQ(message_of([&] { find_shards(in("d-{0..3}.tar"), ".tar"); }),
            in("d-2.tar") + " does not exist, but '" + in("d-{0..3}.tar") + "' names it");
  EXPECT_EQ(message_of([&] { find_shards(in("e.tar"), ".tar"); }), in("e.tar") + " does not exist");
  EXPECT_NE(message_of([&] { find_shards(folder.path(), ".zip"); }), "");
  EXPECT_TRUE(names_shards(folder.path(), ".tar"));
  EXPECT_TRUE(names_shards(in("d-{0..3}.tar"), ".tar"));
  EXPECT_FALSE(names_shards(in("other.txt"), ".tar"));
  EXPECT_FALSE(names_shards(in("e.tar"), ".tar"));
}

}  // namespace
}  // namespace ronde::data::files
