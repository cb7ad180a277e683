#include "ronde/base/text/units.h"

#include <gtest/gtest.h>

#include "ronde/base/error.h"

namespace ronde {
namespace {

using namespace std::chrono_literals;

TEST(Units, ReadsSizes) {
  EXPECT_EQ(parse_bytes("0"), 0u);
  EXPECT_EQ(parse_bytes("4096"), 4096u);
  EXPECT_EQ(parse_bytes(" 64MiB "), 64u << 20);
  EXPECT_EQ(parse_bytes("1.5 GB"), 1'500'000'000u);
  EXPECT_EQ(parse_bytes("2TiB"), 2ull << 40);
}

TEST(Units, RefusesWhatIsNoSize) {
  for (const char* text : {"", "MiB", "12 bananas", "64M", "-1", "1e30", "nan", "inf", "0.5B", "64MiB 3", "0x10"})
    EXPECT_THROW(parse_bytes(text), Error) << text;
}

TEST(Units, ReadsTimes) {
  EXPECT_EQ(parse_duration("2ms"), 2ms);
  EXPECT_EQ(parse_duration("30 s"), 30s);
  EXPECT_EQ(parse_duration("1.5h"), 90min);
  EXPECT_EQ(parse_duration("0"), 0s);
  EXPECT_EQ(parse_duration("0.5us"), 500ns);
}

TEST(Units, RefusesATimeWithoutUnitAndSaysWhatToWrite) {
  try {
    parse_duration("30");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "'30' is a time without a unit; write 30s or 30ms");
  }
  for (const char* text : {"", "s", "3 fortnights", "-1s", "1e12h", "5m"}) EXPECT_THROW(parse_duration(text), Error);
}

TEST(Units, WritesShortTexts) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1024), "1 KiB");
  EXPECT_EQ(format_bytes(64u << 20), "64 MiB");
  EXPECT_EQ(format_bytes(1503238553), "1.4 GiB");
  EXPECT_EQ(format_duration(850ns), "850 ns");
  EXPECT_EQ(format_duration(2100us), "2.1 ms");
  EXPECT_EQ(format_duration(999900us), "1 s");
  EXPECT_EQ(format_duration(30s), "30 s");
  EXPECT_EQ(format_duration(59970ms), "1 min 0 s");
  EXPECT_EQ(format_duration(90s), "1 min 30 s");
  EXPECT_EQ(format_duration(119900ms), "2 min 0 s");
  EXPECT_EQ(format_duration(3599900ms), "1 h 0 min");
  EXPECT_EQ(format_duration(65min), "1 h 5 min");
  EXPECT_EQ(format_duration(-2ms), "-2 ms");
}

}  // namespace
}  // namespace ronde
