#include "ronde/launch/output/output.h"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "ronde/launch/process/signals.h"

namespace ronde::launch::detail {
namespace {

using namespace std::chrono_literals;

// A rank's two pipes, with our hands at the writing ends.
struct Hands {
  Pipe out = Pipe::make(), err = Pipe::make();
  void join(Output& output, int rank) { output.add(rank, std::move(out.read), std::move(err.read)); }
};

void put(const FileDescriptor& to, const std::string& text) {
  ASSERT_EQ(write(to.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
}

void watch(Output& output) {
  Poller poller;
  output.watch(poller);
  poller.wait(std::chrono::steady_clock::now() + 50ms);
}

std::string take(const FileDescriptor& from) {
  stop_blocking(from.get());
  std::string text(1 << 20, ' ');
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, read(from.get(), text.data(), text.size()))));
  return text;
}

TEST(Output, StreamsStayApartAndLinesWhole) {
  const Pipe out = Pipe::make(), err = Pipe::make();
  Output output({.descriptor = out.write.get()}, {.descriptor = err.write.get()}, 2);
  Hands zero, one;
  zero.join(output, 0);
  one.join(output, 1);
  put(zero.out.write, "half");
  put(one.out.write, "whole\n");
  put(one.err.write, "error\n");
  watch(output);
  put(zero.out.write, " a line\n");
  for (int round = 0; round < 3; ++round) watch(output);
  EXPECT_EQ(take(out.read), "[1] whole\n[0] half a line\n");
  EXPECT_EQ(take(err.read), "[1] error\n");
  EXPECT_EQ(output.last_lines(1), (std::vector<std::string>{"whole", "error"})) << "of both streams";
  EXPECT_FALSE(output.ended());
}

TEST(Output, BothStreamsIntoOneFileShareItsLines) {
  const Pipe file = Pipe::make();
  const FileDescriptor second(dup(file.write.get()));
  Output output({.descriptor = file.write.get()}, {.descriptor = second.get()}, 1);
  Hands hands;
  hands.join(output, 0);
  const std::string longer(5000, 'x');  // more than one write
  put(hands.out.write, longer + "\n");
  put(hands.err.write, "error\n");
  for (int round = 0; round < 5; ++round) watch(output);
  const std::string text = take(file.read);
  EXPECT_TRUE(text == "[0] " + longer + "\n[0] error\n" || text == "[0] error\n[0] " + longer + "\n");
}

// Two ranks say something on both streams, and end.
void two_ranks_speak(Output& output) {
  for (const int rank : {0, 1}) {
    Hands hands;
    put(hands.out.write, "bar\rout of " + std::to_string(rank) + "\n");
    put(hands.err.write, "err of " + std::to_string(rank) + "\n");
    hands.join(output, rank);
  }
  output.finish();
  for (int round = 0; round < 3; ++round) watch(output);
}

TEST(Output, AFileForEachRankAndStream) {
  const auto folder = std::filesystem::path(testing::TempDir()) / fmt::format("rank-files-{}", getpid());
  std::filesystem::create_directory(folder);
  const auto text = [&](const char* name) {
    std::ifstream file(folder / name);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const Pipe out = Pipe::make(), err = Pipe::make();
  for (const bool append : {false, false, true}) {
    Output output({.descriptor = out.write.get()}, {.descriptor = err.write.get()}, 2, {.folder = folder}, append);
    two_ranks_speak(output);
    if (append) continue;
    EXPECT_EQ(text("rank.0.out"), "out of 0\n") << "begun anew, and without the bar";
    EXPECT_EQ(text("rank.1.err"), "err of 1\n");
  }
  EXPECT_EQ(text("rank.0.out"), "out of 0\nout of 0\n");
  EXPECT_NE(take(out.read).find("[1] out of 1\n"), std::string::npos) << "shown as well";
  std::filesystem::remove_all(folder);
}

TEST(Output, QuietShowsRankZeroAndKeepsTheLastLinesOfTheOthers) {
  const Pipe out = Pipe::make(), err = Pipe::make();
  Output output({.descriptor = out.write.get()}, {.descriptor = err.write.get()}, 2, {.quiet = true});
  two_ranks_speak(output);
  EXPECT_EQ(take(out.read), "[0] out of 0\n");
  EXPECT_EQ(take(err.read), "[0] err of 0\n");
  EXPECT_EQ(output.last_lines(1), (std::vector<std::string>{"out of 1", "err of 1"}));
}

TEST(Output, AFileThatCannotBeWrittenIsSaidOnce) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "there is no /dev/full";
  const auto folder = std::filesystem::path(testing::TempDir()) / fmt::format("full-{}", getpid());
  std::filesystem::create_directory(folder);
  for (const char* name : {"rank.0.out", "rank.1.out"}) std::filesystem::create_symlink("/dev/full", folder / name);
  const Pipe out = Pipe::make(), err = Pipe::make();
  Output output({.descriptor = out.write.get()}, {.descriptor = err.write.get()}, 2, {.folder = folder});
  Hands hands;
  put(hands.out.write, "one\ntwo\n");
  hands.join(output, 0);
  output.finish();
  for (int round = 0; round < 3; ++round) watch(output);
  EXPECT_EQ(take(out.read), "[0] one\n[0] two\n");
  EXPECT_EQ(take(err.read), "ronde: cannot write " + (folder / "rank.0.out").string() +
                                ", the rest of that output is not kept: No space left on device\n");
  std::filesystem::remove_all(folder);
}

TEST(Output, TimesStandInFront) {
  const Pipe out = Pipe::make(), err = Pipe::make();
  Output output({.descriptor = out.write.get()}, {.descriptor = err.write.get()}, 2, {.timestamps = true});
  two_ranks_speak(output);
  EXPECT_TRUE(std::regex_search(take(out.read), std::regex(R"(\d\d:\d\d:\d\d\.\d\d\d \[0\] out of 0)")));
}

TEST(Output, AtTheEndNothingIsLost) {
  const Pipe out = Pipe::make(), err = Pipe::make();
  Output output({.descriptor = out.write.get()}, {.descriptor = err.write.get()}, 1);
  Hands hands;
  hands.join(output, 0);
  put(hands.out.write, "no newline");
  output.finish();
  EXPECT_TRUE(output.ended());
  output.say("last words\n");
  EXPECT_FALSE(output.written());
  watch(output);
  EXPECT_TRUE(output.written());
  EXPECT_EQ(take(out.read), "[0] no newline\n");
  EXPECT_EQ(take(err.read), "last words\n");
}

TEST(Output, ASlowReaderHoldsRanksUpAndABrokenOneIsPassedOn) {
  const Signals signals({});
  Pipe out = Pipe::make(), err = Pipe::make();
  Output output({.descriptor = out.write.get()}, {.descriptor = err.write.get()}, 1);
  Hands hands;
  hands.join(output, 0);
  stop_blocking(hands.out.write.get());
  const std::string line(4095, 'x');
  int accepted = 0;
  for (int round = 0; round < 4000; ++round) {
    if (write(hands.out.write.get(), (line + "\n").data(), 4096) == 4096) ++accepted;
    Poller poller;
    output.watch(poller);
    poller.wait(std::chrono::steady_clock::now());
  }
  EXPECT_GT(accepted, 200);
  EXPECT_LT(accepted, 1000) << "the launcher would keep all output of a job in memory";
  out.read.close();
  for (int round = 0; round < 3; ++round) watch(output);
  EXPECT_EQ(write(hands.out.write.get(), "x", 1), -1);
  EXPECT_EQ(errno, EPIPE);
  EXPECT_FALSE(output.ended()) << "the error stream is still read";
}

}  // namespace
}  // namespace ronde::launch::detail
