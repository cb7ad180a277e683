#include "ronde/launch/output/lines.h"

#include <utility>

#include <gtest/gtest.h>

namespace ronde::launch::detail {
namespace {

using Texts = std::vector<std::string>;

// "text" for a line that stays, "text~" for a bar.
Texts split(const Texts& pieces) {
  LineSplitter splitter;
  Texts lines;
  const auto take = [&](std::string_view line, LineEnd end) {
    lines.push_back(std::string(line) + (end == LineEnd::Return ? "~" : ""));
  };
  for (const std::string& piece : pieces) splitter.add(piece, take);
  splitter.finish(take);
  return lines;
}

TEST(LineSplitter, LinesAreWholeHoweverTheyCome) {
  EXPECT_EQ(split({"a\nb\n"}), (Texts{"a", "b"}));
  EXPECT_EQ(split({"on", "e\ntw", "o", "\n"}), (Texts{"one", "two"}));
  EXPECT_EQ(split({"\n\n"}), (Texts{"", ""}));
  EXPECT_EQ(split({"no end"}), Texts{"no end"});
  EXPECT_EQ(split({}), Texts{});
  EXPECT_EQ(split({std::string("a\0b\xff\n", 5)}), Texts{std::string("a\0b\xff", 4)}) << "any bytes";
}

TEST(LineSplitter, AProgressBarIsSeenAndItsLastStateStays) {
  EXPECT_EQ(split({"\r10%\r20%\r30%\n"}), (Texts{"10%~", "20%~", "30%"}));
  EXPECT_EQ(split({"10%\r", "20%\r"}), (Texts{"10%~", "20%~", "20%"})) << "killed in the middle";
  EXPECT_EQ(split({"10%\r", "\n", "next\n"}), (Texts{"10%~", "10%", "next"}));
}

TEST(LineSplitter, LineEndsOfWindowsAreNoBars) {
  EXPECT_EQ(split({"a\r\nb\r", "\n"}), (Texts{"a~", "a", "b~", "b"})) << "what stays is each line once";
}

TEST(LineSplitter, AVeryLongLineIsCut) {
  const std::string longest(kLongestLine, 'x');
  EXPECT_EQ(split({longest + "\n"}), Texts{longest});
  EXPECT_EQ(split({longest + "y\nz\n"}), (Texts{longest, "y", "z"}));
  EXPECT_EQ(split({longest, "y"}), (Texts{longest, "y"}));
}

std::string written(Prefixer::Look look, const std::vector<std::pair<int, std::string>>& lines) {
  Prefixer prefixer(look);
  std::string to;
  for (const auto& [rank, line] : lines) {
    const bool bar = line.ends_with('~');
    prefixer.write(rank, line.substr(0, line.size() - bar), bar ? LineEnd::Return : LineEnd::Newline, to);
  }
  return to;
}

TEST(Prefixer, PutsTheRankInFront) {
  EXPECT_EQ(written({}, {{0, "a"}, {11, ""}}), "[0] a\n[11] \n");
}

TEST(Prefixer, ColoursDifferBetweenNeighbours) {
  EXPECT_EQ(written({.color = true}, {{0, "a"}, {1, "b"}, {10, "c"}}),
            "\x1b[36m[0]\x1b[0m a\n\x1b[33m[1]\x1b[0m b\n\x1b[36m[10]\x1b[0m c\n");
}

TEST(Prefixer, BarsTakeEachOthersPlaceOnATerminalAndStayOutOfFiles) {
  const std::vector<std::pair<int, std::string>> lines{{0, "10%~"}, {1, "long 20%~"}, {0, "done"}, {1, "x"}};
  EXPECT_EQ(written({.terminal = true}, lines), "[0] 10%\r\x1b[K[1] long 20%\r\x1b[K[0] done\n[1] x\n");
  EXPECT_EQ(written({.terminal = false}, lines), "[0] done\n[1] x\n");
}

TEST(Prefixer, ABarThatIsTooWideIsCutAndALineIsNot) {
  const Prefixer::Look narrow{.terminal = true, .columns = 10};
  EXPECT_EQ(written(narrow, {{0, "123456789~"}}), "[0] 12345\r") << "one column stays free: some terminals wrap there";
  EXPECT_EQ(written(narrow, {{0, "123456789"}}), "[0] 123456789\n");
  EXPECT_EQ(written({.terminal = true, .columns = 3}, {{0, "12~"}}), "[0] \r");
}

TEST(Prefixer, TheTimeStandsInFrontOfAll) {
  Prefixer prefixer({});
  std::string to;
  prefixer.write(3, "a", LineEnd::Newline, to, "12:00:01.500 ");
  EXPECT_EQ(to, "12:00:01.500 [3] a\n");
}

TEST(Fit, CountsCharactersAndLeavesColoursWhole) {
  EXPECT_EQ(fit("abc", 5), "abc");
  EXPECT_EQ(fit("abc", 2), "ab");
  EXPECT_EQ(fit("█▉ 50%", 3), "█▉ ");
  EXPECT_EQ(fit("\x1b[32mabc\x1b[0m", 1), "\x1b[32ma\x1b[0m") << "what turns the colour off stays";
  EXPECT_EQ(fit("a\x1b[", 5), "a\x1b[") << "cut off in the middle";
}

TEST(Tail, KeepsTheLastTwentyLines) {
  Tail tail;
  EXPECT_EQ(tail.lines(), Texts{});
  for (int line = 0; line < 25; ++line) tail.add(std::to_string(line));
  ASSERT_EQ(tail.lines().size(), 20u);
  EXPECT_EQ(tail.lines().front(), "5");
  EXPECT_EQ(tail.lines().back(), "24");
}

TEST(Tail, CutsWhatNobodyWouldRead) {
  Tail tail;
  tail.add(std::string(100'000, 'x'));
  EXPECT_EQ(tail.lines().front(), std::string(4096, 'x') + "... (100000 bytes)");
}

}  // namespace
}  // namespace ronde::launch::detail
