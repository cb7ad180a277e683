#include "ronde/launch/output/frames.h"

#include <gtest/gtest.h>

#include <map>
#include <utility>
#include <vector>

#include "ronde/base/text/text.h"

namespace ronde::launch::detail {
namespace {

// What came out of a stream.
struct Taken {
  std::map<std::pair<int, RankStream>, std::string> bytes;
  std::vector<RankEnd> ends;
  std::vector<std::string> words;

  FrameReader reader() {
    return FrameReader(
        {.bytes = [this](int rank, RankStream stream, std::string_view some) { bytes[{rank, stream}] += some; },
         .end = [this](const RankEnd& end) { ends.push_back(end); },
         .words = [this](std::string_view line) { words.emplace_back(line); }});
  }
};

TEST(Frames, BytesOfAllRanksArriveAsTheyWere) {
  const std::string odd = "one\n\ntwo\r\nbar 10%\rbar 20%\rno newline \x1e\x01 :";
  const std::string binary("\0\xff\n\xfe", 4), long_line(5000, 'x');
  std::string wire;
  add_frames(0, RankStream::Out, odd, wire);
  add_frames(11, RankStream::Err, binary, wire);
  add_frames(0, RankStream::Out, long_line + "\n", wire);
  add_frames(3, RankStream::Out, "", wire);
  Taken taken;
  auto reader = taken.reader();
  reader.add(wire);
  reader.finish();
  EXPECT_EQ((taken.bytes[{0, RankStream::Out}]), odd + long_line + "\n");
  EXPECT_EQ((taken.bytes[{11, RankStream::Err}]), binary);
  EXPECT_EQ(taken.bytes.size(), 2u);
  EXPECT_TRUE(taken.words.empty());
  for (const auto line : split(wire, '\n')) EXPECT_LT(line.size(), kLongestFrame);
}

TEST(Frames, MayBeCutAnywhereOnTheirWay) {
  std::string wire;
  add_frames(1, RankStream::Out, "a\nb", wire);
  wire += end_frame({.rank = 1, .outcome = {.code = 7}, .host = "b2"});
  for (std::size_t cut = 0; cut <= wire.size(); ++cut) {
    Taken taken;
    auto reader = taken.reader();
    reader.add(wire.substr(0, cut));
    reader.add(wire.substr(cut));
    EXPECT_EQ((taken.bytes[{1, RankStream::Out}]), "a\nb");
    EXPECT_EQ(taken.ends.size(), 1u);
  }
}

TEST(Frames, EndsAreToldWithTheirHost) {
  const std::vector<RankEnd> ends{{.rank = 0, .outcome = {}, .host = "a"},
                                  {.rank = 2, .outcome = {.code = 0, .signal = 9}, .host = "b.c"},
                                  {.rank = 3, .outcome = {.code = 0, .signal = 15}, .stopped = true, .host = "d"}};
  Taken taken;
  auto reader = taken.reader();
  for (const RankEnd& end : ends) reader.add(end_frame(end));
  EXPECT_EQ(taken.ends, ends);
}

TEST(Frames, WordsOfTheLauncherAreKeptApart) {
  std::string wire = "mpirun: hello\nno newline";
  add_frames(4, RankStream::Out, "line\n", wire);
  wire += "\x1ez4:unknown\n\x1e\n\x1exx:0 0 0 h\nlast";
  Taken taken;
  auto reader = taken.reader();
  reader.add(wire);
  reader.finish();
  EXPECT_EQ((taken.bytes[{4, RankStream::Out}]), "line\n");
  EXPECT_EQ(taken.words,
            (std::vector<std::string>{"mpirun: hello", "no newline", "z4:unknown", "", "xx:0 0 0 h", "last"}));
}

}  // namespace
}  // namespace ronde::launch::detail
