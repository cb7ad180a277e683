#include "ronde/data/io/file_bytes.h"

#include <cstring>
#include <numeric>

#include <zlib.h>

#include <gtest/gtest.h>

#include "ronde/data/testing/folder.h"

namespace ronde::data::detail {
namespace {

std::vector<std::uint8_t> gzip(const std::vector<std::uint8_t>& plain) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::vector<std::uint8_t> packed(plain.size() + 1000);
  stream.next_in = const_cast<Bytef*>(plain.data());
  stream.avail_in = static_cast<uInt>(plain.size());
  stream.next_out = packed.data();
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

std::vector<std::uint8_t> some_bytes(std::size_t count) {
  std::vector<std::uint8_t> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::uint8_t>(i * i / 100);
  return bytes;
}

std::vector<std::uint8_t> content(const FileBytes& file) {
  return {file.bytes().begin(), file.bytes().end()};
}

TEST(FileBytes, ReadsPlainAndPackedFiles) {
  const Folder folder;
  for (const std::size_t count : {0u, 1u, 100'000u}) {
    const auto bytes = some_bytes(count);
    folder.write("plain", bytes);
    folder.write("packed.gz", gzip(bytes));
    FileBytes plain(folder.path() / "plain");
    const FileBytes moved(std::move(plain));
    EXPECT_EQ(content(moved), bytes);
    FileBytes packed(folder.path() / "packed.gz");
    const FileBytes moved_too(std::move(packed));
    EXPECT_EQ(content(moved_too), bytes);
  }
}

TEST(FileBytes, UnpacksWhatIsMuchSmallerPacked) {
  const std::vector<std::uint8_t> zeros(10'000'000);
  EXPECT_EQ(unpack_gzip(gzip(zeros), "zeros"), zeros);
}

TEST(FileBytes, CutOffAtAnyByteIsAnErrorThatSaysWhere) {
  const auto packed = gzip(some_bytes(3000));
  for (std::size_t size = 0; size < packed.size(); ++size) {
    const auto said = message_of([&] { unpack_gzip(Bytes(packed).first(size), "x.gz"); });
    EXPECT_EQ(said, "x.gz: the file ends at byte " + std::to_string(size) + ", inside the compressed data");
  }
}

TEST(FileBytes, DamageIsNoticed) {
  const auto good = gzip(some_bytes(3000));
  auto crc = good;
  crc[crc.size() - 8] ^= 1;
  EXPECT_NE(message_of([&] { unpack_gzip(crc, "x.gz"); }).find("x.gz: damaged near byte"), std::string::npos);
  const auto text = some_bytes(100);
  EXPECT_NE(message_of([&] { unpack_gzip(text, "x.gz"); }).find("x.gz: damaged near byte"), std::string::npos);
}

TEST(FileBytes, SaysWhichFileCannotBeRead) {
  const Folder folder;
  EXPECT_EQ(message_of([] { FileBytes("/nowhere/x"); }), "cannot open /nowhere/x: No such file or directory");
  EXPECT_EQ(message_of([&] { FileBytes(folder.path()); }), folder.text() + " is not a file");
}

}  // namespace
}  // namespace ronde::data::detail
