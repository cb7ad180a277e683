#include <atomic>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include <gtest/gtest.h>

#include "ronde/base/testing/folder.h"
#include "ronde/base/text/format.h"
#include "ronde/comm/testing/pending.h"
#include "ronde/comm/testing/ranks.h"

// Autotune changes buckets while a program runs; results must not change with them.
namespace ronde::comm {
namespace {

using tests::Call;
using tests::expect_none;
using tests::run_calls;
using tests::run_watched;

// A step of 3 MiB in tensors of several sizes and types.
std::vector<Call> step_calls() {
  std::vector<Call> calls;
  for (int i = 0; i < 12; ++i)
    calls.push_back({.name = fmt::format("gradient {}", i),
                     .dtype = i % 3 == 2 ? DType::F64 : DType::F32,
                     .shape = {i % 4 == 0 ? 40'000 : 500},
                     .op = ReduceOp::Average});
  return calls;
}

class EngineAutotune : public testing::TestWithParam<tests::Place> {
 protected:
  const tests::Place& place() const { return GetParam(); }
  int ranks() const { return place().ranks; }

  EngineOptions options() {
    EngineOptions options;
    options.fusion_bytes = 256 << 10;  // so that the grid has something to say about a small step
    options.first_bucket_bytes = 64 << 10;
    options.autotune = true;
    options.autotune_file = file_;
    options.log = Log({.level = LogLevel::Debug, .stream = &told_});
    return options;
  }
  bool tells(const std::string& what) const { return told_.str().find(what) != std::string::npos; }

  const ronde::tests::Folder folder_;
  const std::string file_ = folder_.path() / "tuning.json";
  std::ostringstream told_;
};

// A program that only sums, so that many steps are quick; every value is checked.
class Steps {
 public:
  explicit Steps(Engine& engine) : engine_(engine) {
    for (const std::size_t length : {30'000u, 10u, 70'000u, 900u, 25'000u, 1u}) tensors_.emplace_back(length);
  }

  bool step(bool deviates = false) {
    ++count_;
    std::vector<Handle> handles;
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      if (deviates && i == 1) continue;
      std::ranges::fill(tensors_[i], static_cast<float>(count_ % 1000 + engine_.rank()));
      handles.push_back(engine_.world().allreduce(fmt::format("tensor {}", i), buffer_of(tensors_[i])));
    }
    for (const Handle& handle : handles) handle.wait();
    const int size = engine_.size();
    const auto sum = static_cast<float>(count_ % 1000 * size + size * (size - 1) / 2);
    bool right = true;
    for (std::size_t i = 0; i < tensors_.size(); ++i)
      right = right && ((deviates && i == 1) || (tensors_[i].front() == sum && tensors_[i].back() == sum));
    return right;
  }

 private:
  Engine& engine_;
  std::vector<std::vector<float>> tensors_;
  int count_ = 0;
};

constexpr int kMostSteps = 5000;  // by then the search has ended: a try has at most 64 steps

TEST_P(EngineAutotune, SearchesAndEndsWhileResultsStayRight) {
  std::vector<Statistics> ends(static_cast<std::size_t>(ranks()));
  std::atomic<int> steps_wanted = kMostSteps;
  run_watched(
      place(),
      [&](Engine& engine) {
        Steps steps(engine);
        int wrong = 0;
        for (int i = 0; i < steps_wanted; ++i) {
          wrong += steps.step() ? 0 : 1;
          // Nobody is further than the step after this one, which needs everyone.
          if (engine.rank() == 0 && steps_wanted == kMostSteps && std::filesystem::exists(file_)) steps_wanted = i + 3;
        }
        EXPECT_EQ(wrong, 0);
        engine.world().barrier().wait();
        const Statistics end = engine.statistics();
        for (int i = 0; i < 50; ++i) EXPECT_TRUE(steps.step());
        EXPECT_EQ(engine.statistics().tunings, end.tunings) << "it has ended";
        ends[static_cast<std::size_t>(engine.rank())] = end;
      },
      options());
  EXPECT_TRUE(tells("autotune: searching for ")) << told_.str();
  EXPECT_TRUE(tells("autotune: after ")) << told_.str();
  EXPECT_TRUE(tells("kept in " + file_)) << told_.str();
  EXPECT_TRUE(std::filesystem::exists(file_));
  for (const Statistics& end : ends) {
    EXPECT_GE(end.tunings, 3u);
    EXPECT_GE(end.plans, end.tunings);
    EXPECT_EQ(end.tunings, ends.front().tunings) << "all ranks change together";
    EXPECT_EQ(end.buckets, ends.front().buckets) << "and have the same buckets";
    EXPECT_EQ(end.plans, ends.front().plans);
    EXPECT_LT(end.negotiations, 2 * end.tunings + 20) << "no step is negotiated for it";
  }
}

TEST_P(EngineAutotune, TheNextRunStartsWithWhatWasFound) {
  std::ofstream(file_) << fmt::format(
      R"({{"what": "ronde autotune", "version": 1, "records": [{{"nodes": {}, "ranks": {}, "step_bytes": 503644,
          "fusion_bytes": 8, "first_bucket_bytes": 8, "algorithm": "auto", "chosen_us": 1.0, "default_us": 2.0}}]}})",
      place().nodes, ranks());
  run_watched(
      place(),
      [&](Engine& engine) {
        Steps steps(engine);
        for (int i = 0; i < 10; ++i) EXPECT_TRUE(steps.step());
        engine.world().barrier().wait();
        const Statistics before = engine.statistics();
        EXPECT_EQ(before.tunings, 1u);
        for (int i = 0; i < 10; ++i) EXPECT_TRUE(steps.step());
        // The first bucket of 8 bytes takes the last tensors; every larger one has a bucket of its own.
        EXPECT_GE(engine.statistics().buckets - before.buckets, 50u);
      },
      options());
  EXPECT_TRUE(tells("buckets of 8 B, the first of 8 B") && tells("as found by an earlier run of")) << told_.str();
}

// Steps that are not as planned, joins and other operations, all while it searches.
TEST_P(EngineAutotune, WhatDeviatesWorksAllTheSame) {
  run_watched(
      place(),
      [&](Engine& engine) {
        Steps steps(engine);
        int wrong = 0;
        for (int i = 0; i < (tests::kSanitized ? 120 : 400); ++i) {
          wrong += steps.step(i % 37 == 20) ? 0 : 1;
          if (i % 50 == 30) expect_none(run_calls(engine, engine.world(), step_calls(), {.seed = 3}));
          if (i % 90 == 70) engine.world().join().wait();
        }
        EXPECT_EQ(wrong, 0);
      },
      options());
  EXPECT_TRUE(tells("autotune: ")) << told_.str();
}

TEST_P(EngineAutotune, IsOffWherePlansMayNotChange) {
  for (const bool deterministic : {true, false}) {
    EngineOptions fixed = options();
    fixed.deterministic = deterministic;
    fixed.static_plan = !deterministic;
    run_watched(
        place(),
        [&](Engine& engine) {
          Steps steps(engine);
          for (int i = 0; i < 40; ++i) EXPECT_TRUE(steps.step());
          EXPECT_EQ(engine.statistics().tunings, 0u);
        },
        fixed);
    EXPECT_TRUE(tells(deterministic ? "autotune is off: comm.deterministic" : "autotune is off: with comm.static"));
  }
}

INSTANTIATE_TEST_SUITE_P(All, EngineAutotune,
                         testing::Values(tests::Place{2}, tests::Place{3}, tests::Place{4}, tests::Place{4, 2}),
                         tests::place_name);

}  // namespace
}  // namespace ronde::comm
