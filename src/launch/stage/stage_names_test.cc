#include "ronde/launch/stage/stage_names.h"

#include <gtest/gtest.h>

#include "ronde/base/error.h"

namespace ronde::launch::detail {
namespace {

std::string complaint(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::BadInput);
    return error.message();
  }
  return "none";
}

TEST(StageNames, FromAndTo) {
  EXPECT_EQ(parse_from_to("/data/x", "--stage").from, "/data/x");
  EXPECT_EQ(parse_from_to("/data/x", "--stage").to, "");
  EXPECT_EQ(parse_from_to("a:b:c", "--stage").from, "a:b");
  EXPECT_EQ(parse_from_to("a:b:c", "--stage").to, "c");
  for (const char* text : {"", ":x", "x:", ":"})
    EXPECT_NE(complaint([&] { parse_from_to(text, "--stage"); }).find("--stage"), std::string::npos) << text;
}

TEST(StageNames, ArchivesAreKnownByTheirEnding) {
  EXPECT_FALSE(unpacker_for("/data/x"));
  EXPECT_FALSE(unpacker_for("/data/x.h5"));
  EXPECT_FALSE(unpacker_for("/data/.tar")) << "a hidden file with no name of its own";
  EXPECT_EQ(unpacker_for("x.tar")->command.back(), "--no-same-owner");
  EXPECT_EQ(unpacker_for("x.tgz")->command.back(), "--gzip");
  EXPECT_EQ(unpacker_for("x.tar.zst")->needs, "zstd");
  EXPECT_EQ(unpacker_for("x.zip")->command.front(), "unzip");
  EXPECT_FALSE(unpacker_for("x.zip")->reads_input);
}

TEST(StageNames, WhatRanksKnowItBy) {
  EXPECT_EQ(name_of("/data/imagenet.tar.gz"), "imagenet");
  EXPECT_EQ(name_of("/data/train/"), "train");
  EXPECT_EQ(name_of("x.h5"), "x.h5");
  EXPECT_EQ(name_of("a/../b"), "b");
  EXPECT_THROW(name_of("/"), Error);
  EXPECT_THROW(name_of(".."), Error);
  EXPECT_EQ(variable_for("STAGE_DIR_", "cifar-10.h5"), "STAGE_DIR_CIFAR_10_H5");
}

TEST(StageNames, PathsTakeTheirPlaceInTheCommand) {
  const std::vector<NamedPath> two{{"train", "/tmp/train"}, {"val", "/tmp/val"}};
  EXPECT_EQ(substitute("--data={stage}/x", "stage", two), "--data=/tmp/train/x");
  EXPECT_EQ(substitute("{stage:val}:{stage:train}", "stage", two), "/tmp/val:/tmp/train");
  EXPECT_EQ(substitute("{staged} {x} {stage", "stage", two), "{staged} {x} {stage") << "not for us";
  EXPECT_EQ(complaint([&] { substitute("{stage:test}", "stage", two); }),
            "{stage:test} in the command: no --stage has that name");
  EXPECT_THROW(substitute("{unstage}", "unstage", {}), Error);
}

TEST(StageNames, TheFirstFolderWithRoomIsTaken) {
  const std::vector<Candidate> all{{"/ro", 1 << 30, false}, {"/small", 1 << 20}, {"/large", 1 << 30}};
  EXPECT_EQ(choose_folder(all, 1000, "x"), "/small");
  EXPECT_EQ(choose_folder(all, 2 << 20, "x"), "/large");
  EXPECT_EQ(complaint([&] { choose_folder(all, std::uint64_t{2} << 30, "data.tar"); }),
            "not enough space on this node for data.tar, 2 GiB: /ro cannot be written to, /small has 1 MiB, /large has "
            "1 GiB; choose another folder with --stage-to");
}

}  // namespace
}  // namespace ronde::launch::detail
