#include "ronde/trace/file/trace_writer.h"

#include <chrono>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/base/testing/folder.h"
#include "ronde/trace/span.h"

namespace ronde::trace {
namespace {

std::string bytes_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// All that a recorder writes, but whole numbers as counters, which a reader gives as real ones.
void record(const std::filesystem::path& folder, int rank) {
  Recorder recorder({.folder = folder, .rank = rank, .world_size = 2, .host = "node7"});
  const std::int64_t now = std::chrono::steady_clock::now().time_since_epoch().count();
  recorder.set_clock_offset(now, -1500);
  const Scope scope(recorder, "training");
  const Track stream = recorder.track("gpu 0 stream 7");
  for (int step = 0; step < 3; ++step) {
    recorder.step(step);
    Span forward("forward", "compute", {{"step", step}, {"share", 0.5}, {"phase", "vote"}, Arg::flow(77)});
    { RONDE_SPAN("layer"); }
    forward.end({{"loss", 0.25}});
    counter("loss", 0.5 * step);
    instant("checkpoint", "io", {{"delta", -3}});
  }
  recorder.span(stream, {.name = "kernel", .category = "gpu", .begin_ns = now, .end_ns = now + 12'345}, {{"grid", 8}});
  recorder.set_metadata("flops", R"({"conv1": 1})");
}

TEST(TraceWriter, MakesTheSameFileFromWhatAReaderTells) {
  const tests::Folder folder;
  record(folder.path(), 0);
  record(folder.path(), 1);
  const auto again = folder.path() / "again";
  std::string both;
  {
    TraceWriter writer(again);
    for (const auto& file : trace_files(folder.path())) {
      EXPECT_FALSE(read_trace(file, writer));
      both += bytes_of(file);
    }
    writer.finish();
  }
  EXPECT_EQ(bytes_of(again), both);
}

TEST(TraceWriter, KeepsWhatAThreadLost) {
  const tests::Folder folder;
  {
    Recorder recorder({.folder = folder.path(), .bytes = 64 << 10});
    const Scope scope(recorder, "flood");
    for (int i = 0; i < 100'000; ++i) RONDE_SPAN("inner");
    ASSERT_GT(recorder.dropped(), 0u);
  }
  const auto file = trace_files(folder.path()).at(0), again = folder.path() / "again";
  {
    TraceWriter writer(again);
    read_trace(file, writer);
    writer.finish();
  }
  EXPECT_EQ(bytes_of(again), bytes_of(file));
}

TEST(TraceWriter, NeedsARanksProcessFirst) {
  const tests::Folder folder;
  TraceWriter writer(folder.path() / "t");
  EXPECT_THROW(writer.event({.rank = 3}), Error);
  EXPECT_THROW(TraceWriter("/proc/nothing/t"), Error);
}

}  // namespace
}  // namespace ronde::trace
