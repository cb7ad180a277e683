#include "ronde/report/testing/generate.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/base/testing/folder.h"
#include "ronde/trace/file/run.h"

namespace ronde::report::testing {
namespace {

std::size_t count(const trace::Run& run, const trace::RankTrace& rank, std::string_view name) {
  const auto id = run.names.find(name);
  std::size_t found = 0;
  for (const trace::Lane& lane : rank.lanes)
    for (const trace::LaneSpan& span : lane.spans) found += id && span.name == *id;
  return found;
}

TEST(Generate, IsReadBackAsTheRunItTellsOf) {
  const tests::Folder folder;
  // Four hosts whose clocks are 5 ms apart and drift.
  const Generated made = generate({.folder = folder.path(), .ranks = 4, .ranks_per_host = 1, .steps = 30});
  const trace::Run run = trace::read_run(folder.path());
  EXPECT_TRUE(run.problems.empty()) << run.problems.front();
  ASSERT_EQ(run.ranks.size(), 4u);
  EXPECT_EQ(run.ranks[3].host, "node3");
  EXPECT_NEAR(static_cast<double>(made.bytes) / (4 * 30), 16'000, 1'000);
  for (const trace::RankTrace& rank : run.ranks) {
    ASSERT_EQ(rank.steps.size(), 30u);
    ASSERT_NE(rank.training(), nullptr);
    EXPECT_EQ(count(run, rank, "forward"), 30u);
    EXPECT_EQ(count(run, rank, "convolution") + count(run, rank, "batch_norm"), 30u * 2 * 58);
    ASSERT_EQ(rank.collectives.size(), 30u * 8);
    // Everybody's exchange begins at once; the clocks were compared once a second.
    for (std::size_t i = 0; i < rank.collectives.size(); ++i)
      EXPECT_NEAR(static_cast<double>(rank.collectives[i].time.begin),
                  static_cast<double>(run.ranks[0].collectives[i].time.begin), 25e3);
  }
  EXPECT_NEAR(static_cast<double>(run.ranks[0].steps.back().time.end - run.ranks[0].steps.front().time.begin),
              static_cast<double>(made.duration), 100);
}

TEST(Generate, FaultsAreInTheTimes) {
  const tests::Folder folder;
  const auto step_of = [&](const Faults& faults) {
    return generate({.folder = folder.path(), .ranks = 2, .steps = 1, .shape = {.layers = 2}, .faults = faults})
        .duration;
  };
  const std::int64_t healthy = step_of({});
  EXPECT_EQ(step_of({.input = 7'000'000}) - healthy, 7'000'000);
  EXPECT_GT(step_of({.slow_rank = 1}) - healthy, 18'000'000) << "0.3 of 62 ms";
  EXPECT_GT(step_of({.link = 5'000'000}), healthy);
  EXPECT_GT(step_of({.first_bucket = 0.9}), healthy);
  EXPECT_EQ(step_of({.evaluate_every = 1}) - healthy, 500'010'000);
  EXPECT_NE(step_of({.jitter = 0.1}), healthy);
}

TEST(Generate, RefusesWhatCannotBe) {
  EXPECT_THROW(generate({.folder = "/tmp", .ranks = 0}), Error);
  EXPECT_THROW(generate({.folder = "/tmp", .shape = {.forward = -1}}), Error);
}

}  // namespace
}  // namespace ronde::report::testing
