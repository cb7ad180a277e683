#include "ronde/report/run/bounded_run.h"

#include <gtest/gtest.h>

#include "ronde/base/testing/folder.h"
#include "ronde/report/analysis.h"
#include "ronde/report/report.h"
#include "ronde/report/testing/generate.h"
#include "ronde/report/testing/generated_rank.h"

namespace ronde::report {
namespace {

class BoundedRuns : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new tests::Folder;
    testing::generate({.folder = folder_->path(), .ranks = 2, .steps = 400, .shape = {.layers = 2}});
  }
  static void TearDownTestSuite() { delete folder_; }

  static std::filesystem::path folder() { return folder_->path(); }
  static std::size_t spans(const trace::Run& run) {
    std::size_t sum = 0;
    for (const trace::RankTrace& rank : run.ranks)
      for (const trace::Lane& lane : rank.lanes) sum += lane.spans.size();
    return sum;
  }
  static tests::Folder* folder_;
};
tests::Folder* BoundedRuns::folder_ = nullptr;

constexpr std::uint64_t kLittle = 400'000;

TEST_F(BoundedRuns, WhatFitsIsReadAsAWhole) {
  for (const std::uint64_t memory : {std::uint64_t{0}, std::uint64_t{1} << 30, std::uint64_t{6'000'000}}) {
    const BoundedRun read = read_bounded(folder(), {.memory = memory});
    EXPECT_EQ(read.left_out, "") << memory;
    EXPECT_EQ(read.run.ranks.at(1).steps.size(), 400u) << memory;
  }
}

TEST_F(BoundedRuns, OfALongRunStepsInTheMiddleAreRead) {
  const BoundedRun read = read_bounded(folder(), {.memory = kLittle});
  ASSERT_EQ(read.run.ranks.size(), 2u);
  const auto& steps = read.run.ranks[0].steps;
  ASSERT_GT(steps.size(), 10u);
  ASSERT_LT(steps.size(), 100u);
  EXPECT_EQ(steps.front().number, *read.steps.first);
  EXPECT_EQ(steps.back().number, *read.steps.last);
  EXPECT_NEAR(static_cast<double>(*read.steps.first + *read.steps.last) / 2, 200, 2);
  EXPECT_EQ(read.run.ranks[1].steps.size(), steps.size());
  EXPECT_TRUE(read.run.problems.empty()) << read.run.problems.front();
  EXPECT_TRUE(read.run.ranks[0].ended);
  EXPECT_EQ(read.run.ranks[1].host, "node0");
  EXPECT_LE(spans(read.run) * sizeof(trace::LaneSpan), kLittle);
  for (const trace::RankTrace& rank : read.run.ranks) {
    EXPECT_GE(rank.time.begin, steps.front().time.begin - 1'000'000);
    EXPECT_LE(rank.time.end, steps.back().time.end + 1'000'000) << "nothing goes on beyond the window";
  }
  EXPECT_NE(read.left_out.find("the middle of 0 to 399"), std::string::npos) << read.left_out;
}

TEST_F(BoundedRuns, StepsThatAreAskedForAreReadAndNoOthers) {
  const BoundedRun read = read_bounded(folder(), {.steps = {.first = 20, .last = 25}, .memory = kLittle});
  EXPECT_EQ(read.left_out, "");
  EXPECT_EQ(read.run.ranks.at(0).steps.size(), 6u);
  EXPECT_EQ(read.run.ranks.at(0).steps.front().number, 20);
  const BoundedRun open = read_bounded(folder(), {.steps = {.first = 300, .last = {}}, .memory = kLittle});
  EXPECT_NE(open.left_out.find("the middle of 300 to 399"), std::string::npos) << open.left_out;
}

TEST_F(BoundedRuns, AWindowGivesTheSameFiguresAsTheSameStepsOfTheWhole) {
  const BoundedRun read = read_bounded(folder(), {.memory = kLittle});
  const auto bounded = analyse({folder()}, {.memory = kLittle});
  const auto whole = analyse({folder()}, {.steps = read.steps, .memory = 0});
  EXPECT_EQ(bounded->problems.at(0), read.left_out);
  EXPECT_EQ(bounded->window.first_step, whole->window.first_step);
  EXPECT_EQ(bounded->window.steps, whole->window.steps);
  EXPECT_NEAR(bounded->tree.value, whole->tree.value, 1e-3);
  for (std::size_t rank = 0; rank < 2; ++rank)
    for (const auto share : {&Shares::total, &Shares::compute, &Shares::optimizer, &Shares::exposed, &Shares::input})
      EXPECT_NEAR(bounded->steps.ranks.at(rank).all.*share, whole->steps.ranks.at(rank).all.*share, 1e-3);
}

// As a simulation records it: two ranks that work for 10 s, in pieces of 0.5 ms and in one that lasts all the time.
void generate_without_steps(const std::filesystem::path& folder) {
  using Row = testing::GeneratedRank::Row;
  constexpr std::int64_t kPiece = 500'000, kAll = 10'000'000'000;
  for (int rank = 0; rank < 2; ++rank) {
    testing::GeneratedRank file(folder, {.rank = rank, .world_size = 2, .host = "node0"}, {.began_ns = 1'700'000'000});
    file.begin(Row::Training, "simulate", 0);
    for (std::int64_t at = 0; at < kAll; at += kPiece) file.span(Row::Training, "piece", at, at + kPiece - 1000);
    file.end(Row::Training, kAll);
    file.metadata("dropped_events", "0", kAll);
    file.finish();
  }
}

TEST(BoundedRun, OfALongRunWithoutStepsTimeInTheMiddleIsRead) {
  const tests::Folder folder;
  generate_without_steps(folder.path());
  const BoundedRun read = read_bounded(folder.path(), {.memory = kLittle});
  EXPECT_NE(read.left_out.find("of memory: this report covers "), std::string::npos) << read.left_out;
  EXPECT_NE(read.left_out.find(" from the middle of 10 s (allow more with --memory)"), std::string::npos)
      << read.left_out;
  ASSERT_EQ(read.run.ranks.size(), 2u);
  for (const trace::RankTrace& rank : read.run.ranks) {
    const auto& spans = rank.training()->spans;
    EXPECT_GT(spans.size(), 1000u);
    EXPECT_LT(spans.size() * sizeof(trace::LaneSpan), kLittle / 2);
    EXPECT_EQ(read.run.names.text(spans.front().name), "simulate") << "what was going on is there";
    EXPECT_EQ(spans.front().time, rank.time) << "as far as the window goes";
    EXPECT_LT(rank.time.length(), 5'000'000'000);
  }
  const auto report = analyse({folder.path()}, {.memory = kLittle});
  EXPECT_EQ(report->problems.at(0), read.left_out);
  EXPECT_LT(report->window.seconds(), 5);
  EXPECT_EQ(read_bounded(folder.path(), {.memory = 0}).left_out, "");
  EXPECT_EQ(read_bounded(folder.path(), {.memory = 10'000'000}).left_out, "") << "weighed, and it fits";
}

}  // namespace
}  // namespace ronde::report
