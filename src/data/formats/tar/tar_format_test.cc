#include "ronde/data/formats/tar/tar_format.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "ronde/data/testing/folder.h"

namespace ronde::data::files {
namespace {

struct Found {
  std::string name, bytes;
  friend bool operator==(const Found&, const Found&) = default;
};

std::vector<Found> walk(std::string_view tar) {
  std::vector<Found> found;
  TarWalk walk(tar, "t.tar");
  while (const auto member = walk.next())
    found.push_back({member->name, std::string(tar.substr(member->offset, member->size))});
  return found;
}

std::string complaint(std::string_view tar) {
  return message_of([&] { walk(tar); });
}

// A header as other programs write it; fields that are not given are those of a plain file.
struct RawHeader {
  std::string name = {}, size = "00000000003", magic = std::string("ustar\00000", 8), prefix = {};
  char type = '0';
  std::string text() const {
    std::string block(512, '\0');
    block.replace(0, name.size(), name);
    block.replace(124, size.size(), size);
    block[156] = type;
    block.replace(257, magic.size(), magic);
    block.replace(345, prefix.size(), prefix);
    block.replace(148, 8, "        ");
    unsigned sum = 0;
    for (const char byte : block) sum += static_cast<unsigned char>(byte);
    block.replace(148, 8, fmt::format("{:06o}", sum) + std::string("\0 ", 2));
    return block;
  }
};

std::string block_of(std::string bytes) {
  bytes.resize((bytes.size() + 511) / 512 * 512);
  return bytes;
}

const std::string kEnd(1024, '\0');

TEST(TarFormat, WhatIsWrittenIsRead) {
  std::string tar;
  const std::string deep = std::string(120, 'd') + "/" + std::string(99, 'f') + ".jpg";
  append_tar_member(tar, "a.jpg", "picture");
  append_tar_member(tar, deep, std::string(512, 'x'));
  append_tar_member(tar, "empty.txt", "");
  append_tar_end(tar);
  EXPECT_EQ(tar.size() % 512, 0u);
  EXPECT_EQ(walk(tar), (std::vector<Found>{{"a.jpg", "picture"}, {deep, std::string(512, 'x')}, {"empty.txt", ""}}));
}

TEST(TarFormat, HeadersOfOtherPrograms) {
  const std::string long_name(200, 'n');
  // ustar with a prefix
  EXPECT_EQ(walk(RawHeader{.name = "b.jpg", .prefix = "dir/sub"}.text() + block_of("abc") + kEnd),
            (std::vector<Found>{{"dir/sub/b.jpg", "abc"}}));
  // GNU: a long name before, other things where ustar has its prefix, sizes in binary
  const std::string gnu = "ustar  ";
  std::string binary(12, '\0');
  binary[0] = static_cast<char>(0x80);
  binary[11] = 3;
  EXPECT_EQ(
      walk(RawHeader{.name = "././@LongLink", .size = "00000000311", .magic = gnu, .type = 'L'}.text() +
           block_of(long_name + '\0') +
           RawHeader{.name = "nnn", .size = binary, .magic = gnu, .prefix = "12345"}.text() + block_of("abc") + kEnd),
      (std::vector<Found>{{long_name, "abc"}}));
  // pax: name and size before; a size of the plain header that does not count
  EXPECT_EQ(walk(RawHeader{.name = "pax", .size = "00000000031", .type = 'x'}.text() +
                 block_of("16 path=p/q.jpg\n9 size=2\n") + RawHeader{.name = "q", .size = "00000000000"}.text() +
                 block_of("xy") + kEnd),
            (std::vector<Found>{{"p/q.jpg", "xy"}}));
  // old: no magic, type zero; folders, links and global headers in between
  EXPECT_EQ(
      walk(RawHeader{.name = "dir/", .size = "00000000000", .type = '5'}.text() +
           RawHeader{.name = "link", .size = "00000000000", .type = '2'}.text() +
           RawHeader{.name = "global", .type = 'g'}.text() + block_of("abc") +
           RawHeader{.name = "old", .size = "          3 ", .magic = "", .type = '\0'}.text() + block_of("abc") + kEnd),
      (std::vector<Found>{{"old", "abc"}}));
}

TEST(TarFormat, TarsPutTogetherAreReadToTheEnd) {
  std::string one, two;
  append_tar_member(one, "a.jpg", "1");
  append_tar_end(one);
  append_tar_member(two, "b.jpg", "2");
  append_tar_end(two);
  EXPECT_EQ(walk(one + two), (std::vector<Found>{{"a.jpg", "1"}, {"b.jpg", "2"}}));
}

TEST(TarFormat, CutOffAnywhere) {
  std::string tar;
  append_tar_member(tar, std::string(150, 'n') + ".jpg", "picture");
  append_tar_member(tar, "b.jpg", std::string(700, 'x'));
  const std::size_t members = tar.size();
  append_tar_end(tar);
  for (std::size_t size = 0; size < members + 512; ++size)
    ASSERT_NE(complaint(std::string_view(tar).substr(0, size)), "") << size;
  EXPECT_EQ(complaint(std::string_view(tar).substr(0, members)),
            fmt::format("t.tar: the file ends at byte {} without the empty blocks that close a tar: it was cut off",
                        members));
  EXPECT_EQ(complaint(std::string_view(tar).substr(0, members - 600)),
            fmt::format("t.tar: the file ends at byte {}, inside 'b.jpg' that begins at byte {}", members - 600,
                        members - 1024 - 512));
  EXPECT_EQ(complaint(std::string_view(tar).substr(0, 1100)),
            "t.tar: the file ends at byte 1100, inside the header that begins at byte 1024");
}

TEST(TarFormat, DamagedHeaders) {
  std::string tar;
  append_tar_member(tar, "a.jpg", "picture");
  append_tar_end(tar);
  for (std::size_t i = 0; i < 512; ++i) {
    std::string bad = tar;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    if (i == 154 || i == 155) continue;  // what ends the checksum's digits
    ASSERT_NE(complaint(bad), "") << i;
  }
  EXPECT_EQ(complaint(std::string(2048, 'q')),
            "t.tar: byte 0: not a tar file: the checksum of its first header does not match");
}

TEST(TarFormat, SizesThatCannotBe) {
  const auto with_size = [](std::string size) { return RawHeader{.name = "a", .size = std::move(size)}.text() + kEnd; };
  EXPECT_NE(complaint(with_size(std::string(12, '\xff'))), "");           // -1 as GNU tar writes it
  EXPECT_NE(complaint(with_size("\x80" + std::string(11, '\xff'))), "");  // beyond all files
  EXPECT_NE(complaint(with_size("-0000000001")), "");
  EXPECT_NE(complaint(with_size("77777777777")), "");  // longer than the file
  for (const char* record : {"9 size=-1\n", "99 path=a\n", "0 path=a\n", "path=a\n", "7 path\n", "12 size=99999\n",
                             "30 size=99999999999999999999\n", "x", "3 =\n"}) {
    const std::string tar =
        RawHeader{.name = "pax", .size = fmt::format("{:011o}", std::string(record).size()), .type = 'x'}.text() +
        block_of(record) + RawHeader{.name = "a"}.text() + block_of("abc") + kEnd;
    EXPECT_NE(complaint(tar), "") << record;
  }
  EXPECT_NE(complaint(RawHeader{.name = "a", .type = 'S'}.text() + kEnd).find("sparse"), std::string::npos);
}

}  // namespace
}  // namespace ronde::data::files
