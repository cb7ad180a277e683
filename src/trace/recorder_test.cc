#include "ronde/trace/recorder.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <iterator>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "ronde/base/testing/folder.h"
#include "ronde/trace/span.h"

namespace ronde::trace {
namespace {

std::size_t count(const std::string& text, std::string_view part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++found;
  return found;
}

// What is inside the file is checked with Perfetto's own schema in tests/python/test_trace_file.py.
struct RecorderTest : testing::Test {
  std::string content(int rank = 0) const {
    std::ifstream file(folder / ("trace-0000" + std::to_string(rank) + ".perfetto-trace"), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  const tests::Folder kept;
  const std::filesystem::path folder = kept.path();
};

TEST_F(RecorderTest, AForkedChildNeitherHangsNorWrites) {
  auto recorder = std::make_unique<Recorder>(RecorderOptions{.folder = folder});
  recorder->flush();
  const std::string before = content();
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    recorder->flush();
    recorder.reset();
    ::_exit(0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status);
  EXPECT_EQ(content(), before);
}

TEST_F(RecorderTest, WithoutAScopeNothingIsRecorded) {
  { Recorder recorder({.folder = folder}); }
  const std::size_t empty = content().size();
  {
    Recorder recorder({.folder = folder});
    RONDE_SPAN("nobody listens");
    instant("nobody listens");
    counter("nobody listens", 1);
    const Scope scope(nullptr, "off");
    RONDE_SPAN("nobody listens");
  }
  EXPECT_EQ(count(content(), "nobody listens"), 0u);
  EXPECT_NEAR(static_cast<double>(content().size()), static_cast<double>(empty), 16);
}

TEST_F(RecorderTest, EachThreadRecordsWithTheRecorderOfItsScope) {
  {
    Recorder zero({.folder = folder, .rank = 0}), one({.folder = folder, .rank = 1});
    const Scope outer(zero, "zero");
    {
      const Scope inner(one, "one");
      RONDE_SPAN("in one");
    }
    RONDE_SPAN("in zero");
  }
  EXPECT_EQ(count(content(0), "in zero"), 1u);
  EXPECT_EQ(count(content(0), "in one"), 0u);
  EXPECT_EQ(count(content(1), "in one"), 1u);
}

TEST_F(RecorderTest, StartAndStopAndTheWindowMustAllAgree) {
  Recorder recorder({.folder = folder, .steps = parse_step_window("2..3"), .started = false});
  EXPECT_FALSE(recorder.recording());
  recorder.step(2);
  EXPECT_FALSE(recorder.recording());
  recorder.start();
  EXPECT_TRUE(recorder.recording());
  recorder.step(3);
  EXPECT_TRUE(recorder.recording());
  recorder.stop();
  EXPECT_FALSE(recorder.recording());
  recorder.start();
  recorder.step(4);
  EXPECT_FALSE(recorder.recording());
}

TEST_F(RecorderTest, ListenersHearOfSwitchesAlone) {
  Recorder recorder({.folder = folder, .steps = parse_step_window("2..3")});
  std::vector<bool> heard;
  recorder.on_switch([&](bool recording) { heard.push_back(recording); });
  for (int step = 1; step <= 5; ++step) recorder.step(step);
  EXPECT_EQ(heard, (std::vector<bool>{true, false}));
  recorder.on_switch({});
  recorder.step(2);
  EXPECT_EQ(heard.size(), 2u);
}

TEST_F(RecorderTest, SpansToldOfLateCountIfRecordingWasOnWhenTheyBegan) {
  {
    Recorder recorder({.folder = folder, .steps = parse_step_window("2..2")});
    const Track track = recorder.track("gpu 0 stream 7");
    const auto now = [] { return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1); };
    recorder.step(1);
    const std::int64_t early = now();
    recorder.step(2);
    const std::int64_t inside = now();
    recorder.step(3);
    const std::int64_t late = now();
    recorder.span(track, {.name = "too early", .begin_ns = early, .end_ns = early + 1});
    recorder.span(track, {.name = "in time", .begin_ns = inside, .end_ns = inside + 1});
    recorder.span(track, {.name = "too late", .begin_ns = late, .end_ns = late + 1});
  }
  EXPECT_EQ(count(content(), "in time"), 1u);
  EXPECT_EQ(count(content(), "too early"), 0u);
  EXPECT_EQ(count(content(), "too late"), 0u);
}

TEST_F(RecorderTest, AFlushBringsEverythingToTheFile) {
  Recorder recorder({.folder = folder});
  const Scope scope(recorder, "main");
  { RONDE_SPAN("first"); }
  recorder.flush();
  EXPECT_EQ(count(content(), "first"), 1u);
  { RONDE_SPAN(recorder.intern("sec" + std::string("ond"))); }
  recorder.flush();
  EXPECT_EQ(count(content(), "second"), 1u);
}

TEST_F(RecorderTest, AFullDiskStopsTheRecordingAndNotTheProgram) {
  Recorder recorder({.file = "/dev/full"});
  const Scope scope(recorder, "main");
  { RONDE_SPAN("lost"); }
  recorder.flush();
  ASSERT_TRUE(recorder.error());
  EXPECT_EQ(recorder.error()->kind(), Error::Kind::System);
  EXPECT_EQ(recorder.error()->message(), "cannot write the trace /dev/full: No space left on device");
  EXPECT_FALSE(recorder.recording());
  recorder.start();
  EXPECT_FALSE(recorder.recording());
  { RONDE_SPAN("also lost"); }
  recorder.flush();
}

TEST_F(RecorderTest, RefusesOptionsThatMakeNoSense) {
  EXPECT_THROW(Recorder({.rank = 0}), Error);
  EXPECT_THROW(Recorder({.folder = folder, .rank = -1}), Error);
  EXPECT_THROW(Recorder({.file = folder}), Error);
}

TEST_F(RecorderTest, ThreadsComeAndGoWithMoreThanTheMemoryHolds) {
  constexpr int kThreads = 40, kSpans = 200;
  Recorder recorder({.folder = folder, .bytes = 1 << 20});
  const Track track = recorder.track("shared");
  for (int round = 0; round < 3; ++round) {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        const Scope scope(recorder, "worker " + std::to_string(i));
        for (int k = 0; k < kSpans; ++k) {
          RONDE_SPAN("outer", "test", {{"k", k}});
          RONDE_SPAN(recorder.intern("tensor " + std::to_string(k % 7)));
          counter("k", k);
          recorder.span(track, {.name = "timed", .begin_ns = k, .end_ns = k + 1});
          if (k == kSpans / 2) recorder.step(round * kThreads + i);
        }
      });
    }
  }
  recorder.flush();
  EXPECT_FALSE(recorder.error());
  EXPECT_EQ(count(content(), "worker 0"), 3u);
  EXPECT_EQ(count(content(), "tensor 3"), 1u);
}

TEST_F(RecorderTest, SwitchingWhileOthersRecordIsSafe) {
  Recorder recorder({.folder = folder});
  std::atomic<bool> done{false};
  std::jthread worker([&] {
    const Scope scope(recorder, "worker");
    while (!done) RONDE_SPAN("busy", {}, {{"x", 1}});
  });
  for (int i = 0; i < 50; ++i) {
    recorder.stop();
    recorder.set_metadata("round", std::to_string(i));
    recorder.set_clock_offset(i, -i);
    recorder.start();
    recorder.step(i);
    recorder.counter("from outside", i, i);
    (void)recorder.dropped();
  }
  done = true;
  worker.join();
  recorder.flush();
  EXPECT_EQ(count(content(), "round"), 50u);
}

}  // namespace
}  // namespace ronde::trace
