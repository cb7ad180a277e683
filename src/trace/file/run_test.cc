#include "ronde/trace/file/run.h"

#include <algorithm>
#include <chrono>
#include <fstream>

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/base/testing/folder.h"
#include "ronde/trace/span.h"

namespace ronde::trace {
namespace {

using tests::Folder;

std::int64_t now_ns() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

// Rank's clock shows `behind` ns less than the shared one. `at` is on the shared clock.
void record(const std::filesystem::path& folder, int rank, std::int64_t at, std::int64_t behind) {
  Recorder recorder({.folder = folder, .rank = rank, .world_size = 2, .host = rank == 0 ? "a" : "b"});
  recorder.set_metadata("job", R"({"batch": 64})");
  recorder.set_clock_offset(at - behind, behind);
  const Scope scope(recorder, "training");
  recorder.step(7);
  { RONDE_SPAN("forward", "compute"); }
  const Track move = recorder.track("move: world");
  const std::int64_t begin = at - behind;
  recorder.span(move, {.name = "wait for peers", .begin_ns = begin + 100, .end_ns = begin + 400});
  recorder.span(move, {.name = "allreduce", .category = "comm", .begin_ns = begin, .end_ns = begin + 1000},
                {{"bytes", 4096},
                 {"wire_bytes", 2048},
                 {"requests", 3},
                 {"sequence", 41},
                 {"waiting_us", 0.3},
                 {"arrived_us", 2.0},
                 {"first_arrived_us", 5.0}});
  recorder.counter("make ready", 2.5, begin);
  recorder.end_step();
}

std::string text_of(const Run& run, std::uint32_t name) {
  return run.names.text(name);
}

TEST(ReadRun, BringsRanksTogetherOnOneClock) {
  const Folder folder;
  const std::int64_t at = now_ns();
  record(folder.path(), 0, at, 0);
  record(folder.path(), 1, at, 5'000'000'000);
  const auto run = read_run(folder.path());
  EXPECT_TRUE(run.problems.empty()) << run.problems.front();
  ASSERT_EQ(run.ranks.size(), 2u);
  EXPECT_EQ(run.world_size, 2);
  for (const RankTrace& rank : run.ranks) {
    EXPECT_EQ(rank.host, rank.rank == 0 ? "a" : "b");
    EXPECT_EQ(rank.metadata.at("job"), R"({"batch": 64})");
    EXPECT_TRUE(rank.clock_shared);
    ASSERT_EQ(rank.steps.size(), 1u);
    EXPECT_EQ(rank.steps[0].number, 7);
    ASSERT_TRUE(rank.training());
    ASSERT_EQ(rank.training()->spans.size(), 1u);
    EXPECT_EQ(text_of(run, rank.training()->spans[0].name), "forward");
    EXPECT_EQ(text_of(run, rank.training()->spans[0].category), "compute");
    ASSERT_EQ(rank.collectives.size(), 1u);
    const Collective& one = rank.collectives[0];
    EXPECT_EQ(one.time, run.ranks[0].collectives[0].time) << "five seconds apart on the ranks' own clocks";
    EXPECT_EQ(one.time.length(), 1000);
    EXPECT_EQ(one.arrival, one.time.begin - 2000);
    EXPECT_EQ(one.first_arrival, one.time.begin - 5000);
    EXPECT_EQ(one.bytes, 4096u);
    EXPECT_EQ(one.wire_bytes, 2048u);
    EXPECT_EQ(one.requests, 3u);
    EXPECT_EQ(one.sequence, 41u);
    EXPECT_EQ(one.waiting, 300);
    EXPECT_EQ(text_of(run, one.group), "world");
    ASSERT_EQ(rank.counters.size(), 1u);
    EXPECT_EQ(rank.counters[0].points[0].value, 2.5);
  }
  const auto& move = run.ranks[0].lanes;
  const auto lane = std::ranges::find(move, Lane::Kind::Move, &Lane::kind);
  ASSERT_NE(lane, move.end());
  ASSERT_EQ(lane->spans.size(), 2u) << "the collective first, though it was written last";
  EXPECT_EQ(text_of(run, lane->spans[1].name), "wait for peers");
  EXPECT_EQ(lane->spans[1].parent, 0);
}

TEST(ReadRun, TellsWhichRanksAreMissing) {
  const Folder folder;
  record(folder.path(), 1, now_ns(), 0);
  const auto run = read_run(folder.path());
  ASSERT_EQ(run.problems.size(), 1u);
  EXPECT_EQ(run.problems[0], "of 2 ranks, these have no readable trace: 0");
}

TEST(ReadRun, ReadsAFileThatIsCutOff) {
  const Folder folder;
  record(folder.path(), 0, now_ns(), 0);
  const auto file = folder.path() / "trace-00000.perfetto-trace";
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 3);
  const auto run = read_run(file);
  ASSERT_EQ(run.ranks.size(), 1u);
  ASSERT_FALSE(run.problems.empty());
  EXPECT_NE(run.problems[0].find("is damaged at byte"), std::string::npos) << run.problems[0];
  EXPECT_EQ(run.ranks[0].collectives.size(), 1u);
}

TEST(ReadRun, RefusesWhatIsNoTrace) {
  const Folder folder;
  EXPECT_THROW(read_run(folder.path()), Error);
  EXPECT_THROW(read_run(folder.path() / "nothing"), Error);
  const auto file = folder.path() / "trace-00000.perfetto-trace";
  std::ofstream(file) << "hello";
  EXPECT_THROW(read_run(folder.path()), Error);
}

TEST(Nest, GivesEachSpanTheInnermostOneThatHoldsIt) {
  std::vector<LaneSpan> spans{
      {.time = {10, 20}}, {.time = {0, 100}}, {.time = {10, 15}}, {.time = {20, 30}}, {.time = {100, 120}}};
  nest(spans);
  EXPECT_EQ(spans[1].parent, 0);
  EXPECT_EQ(spans[2].parent, 1);
  EXPECT_EQ(spans[3].parent, 0);
  EXPECT_EQ(spans[4].parent, LaneSpan::kNone);
}

}  // namespace
}  // namespace ronde::trace
