#include "ronde/base/wire/proto_writer.h"

#include <gtest/gtest.h>

namespace ronde {
namespace {

using namespace std::string_literals;

template <class Fill>
std::string written(Fill&& fill) {
  std::string text;
  ProtoWriter out(text);
  fill(out);
  return text;
}

TEST(ProtoWriter, WritesVarints) {
  EXPECT_EQ(written([](auto& out) { out.varint(1, 0); }), "\x08\x00"s);
  EXPECT_EQ(written([](auto& out) { out.varint(1, 150); }), "\x08\x96\x01"s);
  EXPECT_EQ(written([](auto& out) { out.varint(58, 64); }), "\xd0\x03\x40"s);
  EXPECT_EQ(written([](auto& out) { out.varint(1, static_cast<std::uint64_t>(-1)); }),
            "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s);
}

TEST(ProtoWriter, WritesFixedAndBytes) {
  EXPECT_EQ(written([](auto& out) { out.fixed64(1, 0x0102030405060708); }), "\x09\x08\x07\x06\x05\x04\x03\x02\x01"s);
  EXPECT_EQ(written([](auto& out) { out.fixed32(1, 0x01020304); }), "\x0d\x04\x03\x02\x01"s);
  EXPECT_EQ(written([](auto& out) { out.packed(150); }), "\x96\x01"s);
  EXPECT_EQ(written([](auto& out) { out.bytes(2, "testing"); }), "\x12\x07testing"s);
}

TEST(ProtoWriter, NestsMessagesOfAnyLength) {
  EXPECT_EQ(written([](auto& out) { out.message(3, [] {}); }), "\x1a\x00"s);
  EXPECT_EQ(written([](auto& out) { out.message(3, [&] { out.varint(1, 150); }); }), "\x1a\x03\x08\x96\x01"s);
  const std::string long_text(200, 'x');
  EXPECT_EQ(written([&](auto& out) { out.message(3, [&] { out.bytes(1, long_text); }); }),
            "\x1a\xcb\x01\x0a\xc8\x01"s + long_text);
  const std::string longer(20'000, 'y');  // a length of three bytes, inside another message
  EXPECT_EQ(written([&](auto& out) { out.message(3, [&] { out.message(3, [&] { out.bytes(1, longer); }); }); }),
            "\x1a\xa8\x9c\x01\x1a\xa4\x9c\x01\x0a\xa0\x9c\x01"s + longer);
}

}  // namespace
}  // namespace ronde
