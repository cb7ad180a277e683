#include "ronde/data/formats/proto/tfrecord_framing.h"

#include <gtest/gtest.h>

#include "ronde/base/wire/crc32c.h"
#include "ronde/base/wire/tfrecord.h"
#include "ronde/data/testing/folder.h"

namespace ronde::data {
namespace {

// RFC 3720, appendix B.4, and the usual check value.
TEST(Crc32c, HasTheKnownValues) {
  EXPECT_EQ(crc32c(""), 0u);
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  std::string rising;
  for (char c = 0; c < 32; ++c) rising += c;
  EXPECT_EQ(crc32c(rising), 0x46dd794eu);
}

TEST(Crc32c, GoesOnFromAnEarlierPiece) {
  const std::string text = "a round dance: everyone holds hands and moves in step";
  for (std::size_t cut = 0; cut <= text.size(); ++cut)
    EXPECT_EQ(crc32c(text.substr(cut), crc32c(text.substr(0, cut))), crc32c(text));
}

TEST(TfRecord, ComesBackAsItWasWritten) {
  std::string file;
  append_tfrecord(file, "first");
  append_tfrecord(file, "");
  append_tfrecord(file, std::string(1000, 'x'));
  std::string_view rest = file;
  EXPECT_EQ(take_tfrecord(rest, "f", 0), "first");
  EXPECT_EQ(take_tfrecord(rest, "f", 0), "");
  EXPECT_EQ(take_tfrecord(rest, "f", 0), std::string(1000, 'x'));
  EXPECT_TRUE(rest.empty());
}

TEST(TfRecord, WhatIsCutOffOrDamagedIsAnErrorThatSaysWhere) {
  std::string file;
  append_tfrecord(file, "first");
  for (std::size_t size = 1; size < file.size(); ++size) {
    std::string_view bytes(file.data(), size);
    EXPECT_EQ(message_of([&] { take_tfrecord(bytes, "f", 100); }),
              "f: the file ends at byte " + std::to_string(100 + size) + ", inside the record that begins at byte 100");
  }
  for (std::size_t at = 0; at < file.size(); ++at) {
    std::string damaged = file;
    damaged[at] ^= 4;
    std::string_view bytes = damaged;
    EXPECT_EQ(message_of([&] { take_tfrecord(bytes, "f", 100); }),
              at < 12 ? "f: byte 100: the checksum of a record's length does not match"
                      : "f: byte 112: the checksum of a record does not match");
  }
}

}  // namespace
}  // namespace ronde::data
