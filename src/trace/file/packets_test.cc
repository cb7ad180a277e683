#include "ronde/trace/file/packets.h"

#include <gtest/gtest.h>

namespace ronde::trace::detail {
namespace {

using namespace std::string_literals;

// Written out by hand from the schema; the whole file is read with the schema itself in
// tests/python/test_trace_file.py.
TEST(PacketWriter, IntroducesANameOnceAndRefersToItAfterwards) {
  std::string text;
  PacketWriter packets(text, 0);
  packets.process("r", 5);
  text.clear();
  const Slot begin{.name = "ab", .kind = Slot::Kind::Begin};
  packets.event(begin, {}, 3, 7);
  const std::string fields = "\x40\x07\x50\x02\x68\x02"s;                         // time 7, sequence 2, needs state
  const std::string event = "\x5a\x0a\x48\x01\x58\x83\x80\x80\x80\x10\x50\x01"s;  // begin, track 1 << 32 | 3, name 1
  const std::string names =
      "\x62\x08\x12\x06\x08\x01\x12\x02"
      "ab"s;  // interned: name 1 is ab
  EXPECT_EQ(text, "\x0a\x1c"s + fields + event + names);
  text.clear();
  packets.event(begin, {}, 3, 7);
  EXPECT_EQ(text, "\x0a\x12"s + fields + event);
}

TEST(PacketWriter, RanksShareNoTrack) {
  std::string text;
  const PacketWriter first(text, 0), second(text, 1);
  EXPECT_NE(first.uuid(0), second.uuid(0));
  EXPECT_NE(first.uuid(0xffffffff), second.uuid(0));
}

TEST(PacketWriter, OnlyTheFirstPacketClearsTheSequence) {
  std::string text;
  PacketWriter packets(text, 4);
  packets.track(1, "x");
  EXPECT_NE(text.find("\x50\x06\x68\x01"s), std::string::npos);
  text.clear();
  packets.track(2, "y");
  EXPECT_NE(text.find("\x50\x06\x68\x02"s), std::string::npos);
}

}  // namespace
}  // namespace ronde::trace::detail
