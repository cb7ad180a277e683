#include "ronde/report/communication/scaling.h"

#include <cmath>

#include <gtest/gtest.h>

#include "ronde/report/json/json_parts.h"
#include "ronde/report/testing/expect_products.h"

namespace ronde::report {
namespace {

Factor leaf(const std::string& key, double value) {
  return {.key = key, .name = key, .value = value};
}

Factor tree(double balance, double serialisation, double transfer, double input) {
  const double communication = serialisation * transfer;
  return {.key = "parallel",
          .name = "parallel efficiency",
          .value = balance * communication * input,
          .children = {leaf("load_balance", balance),
                       {.key = "communication",
                        .name = "communication",
                        .value = communication,
                        .children = {leaf("serialisation", serialisation), leaf("transfer", transfer)}},
                       leaf("input", input)}};
}

// A run whose speed follows from what a sample costs: ranks x parallel efficiency / useful seconds.
RunSummary run_of(int ranks, std::int64_t batch, double useful, Factor parallel) {
  RunSummary run{.source = "made", .ranks = ranks, .batch = batch};
  run.useful_seconds = useful;
  run.samples_per_second = ranks * parallel.value / useful;
  run.parallel = std::move(parallel);
  return run;
}

TEST(Scaling, StrongLosesInTransfer) {
  const auto scaling =
      scaling_of({run_of(4, 256, 0.0125, tree(0.98, 1, 0.5, 1)), run_of(1, 256, 0.01, tree(1, 1, 1, 1)),
                  run_of(2, 256, 0.01, tree(0.99, 1, 0.8, 1))});
  ASSERT_TRUE(scaling);
  EXPECT_EQ(scaling->kind, ScalingKind::Strong);
  ASSERT_EQ(scaling->runs.size(), 3u);
  EXPECT_EQ(scaling->runs[0].run.ranks, 1);
  const ScaledRun& largest = scaling->runs[2];
  // 4 x 0.98 x 0.5 / 0.0125 = 156.8 samples/s against 100.
  EXPECT_NEAR(largest.speedup, 1.568, 1e-12);
  EXPECT_NEAR(largest.efficiency, 0.392, 1e-12);
  EXPECT_NEAR(largest.computation_scaling, 0.8, 1e-12);
  EXPECT_NEAR(largest.global.value, 0.49 * 0.8, 1e-12);
  // Karp and Flatt: (1/1.568 - 1/4) / (3/4).
  EXPECT_NEAR(*largest.karp_flatt, (1 / 1.568 - 0.25) / 0.75, 1e-12);
  EXPECT_FALSE(scaling->runs[0].karp_flatt);
  EXPECT_EQ(scaling->lost, "transfer");
  EXPECT_EQ(scaling->superlinear, "");
  for (const ScaledRun& run : scaling->runs) {
    testing::expect_products(run.global, 1e-6);
    // The tree tells the efficiency, relative to the reference.
    EXPECT_NEAR(run.global.value / scaling->runs[0].global.value, run.efficiency, 1e-12);
  }
}

TEST(Scaling, AmdahlIsFoundAgain) {
  // A sample takes 0.1 + 0.9 / n of the smallest run's time: speed-ups 1, 1/0.55, 1/0.325, 1/0.2125.
  std::vector<RunSummary> runs;
  for (const int ranks : {2, 4, 8, 16}) {
    RunSummary run = run_of(ranks, 512, 0.01, tree(1, 1, 1, 1));
    run.samples_per_second = 200 / (0.1 + 0.9 / (ranks / 2.0));
    runs.push_back(run);
  }
  const auto scaling = scaling_of(runs);
  ASSERT_TRUE(scaling && scaling->amdahl);
  EXPECT_NEAR(scaling->amdahl->serial_fraction, 0.1, 1e-9);
  EXPECT_NEAR(scaling->amdahl->limit, 10, 1e-7);
  for (std::size_t i = 1; i < 4; ++i) EXPECT_NEAR(*scaling->runs[i].karp_flatt, 0.1, 1e-9);
  EXPECT_EQ(scaling->amdahl->text.find("Karp"), std::string::npos) << scaling->amdahl->text;
  const auto json = to_json(*scaling);
  EXPECT_EQ(json["kind"], "strong");
  EXPECT_NEAR(json["amdahl"]["limit"].get<double>(), 10, 1e-7);
  EXPECT_EQ(json["amdahl"]["karp_flatt"].size(), 3u);
  EXPECT_EQ(json["runs"][3]["factors"]["global"], 1.0);
}

TEST(Scaling, ALimitFarAwayIsNotTold) {
  std::vector<RunSummary> runs;
  for (const int ranks : {1, 2, 4}) {
    RunSummary run = run_of(ranks, 512, 0.01, tree(1, 1, 1, 1));
    run.samples_per_second = 200 / (0.003 + 0.997 / ranks);
    runs.push_back(run);
  }
  const auto scaling = scaling_of(runs);
  ASSERT_TRUE(scaling && scaling->amdahl);
  EXPECT_NEAR(scaling->amdahl->limit, 1 / 0.003, 1e-3);
  EXPECT_EQ(scaling->amdahl->text,
            "0.3 % of the smallest run behaves as if it were sequential (Amdahl): far from a limit for so many ranks.");
}

TEST(Scaling, OverheadThatGrowsIsNoSequentialWork) {
  // Karp and Flatt: 2 ranks: (1/1.9 - 0.5)/0.5 = 0.0526; 8 ranks: (1/4 - 0.125)/0.875 = 0.143.
  std::vector<RunSummary> runs;
  for (const auto& [ranks, speed] : {std::pair{1, 100.0}, {2, 190.0}, {8, 400.0}}) {
    RunSummary run = run_of(ranks, 64, 0.01, tree(1, 1, 1, 1));
    run.samples_per_second = speed;
    runs.push_back(run);
  }
  const auto scaling = scaling_of(runs);
  ASSERT_TRUE(scaling && scaling->amdahl);
  EXPECT_NE(scaling->amdahl->text.find("from 5.3 to 14.3 %"), std::string::npos) << scaling->amdahl->text;
}

TEST(Scaling, WeakHasNoAmdahlAndIsNormalised) {
  const auto scaling = scaling_of({run_of(1, 32, 0.01, tree(1, 1, 1, 1)), run_of(4, 128, 0.01, tree(0.9, 1, 1, 1))});
  ASSERT_TRUE(scaling);
  EXPECT_EQ(scaling->kind, ScalingKind::Weak);
  EXPECT_FALSE(scaling->amdahl);
  EXPECT_NEAR(scaling->runs[1].speedup, 3.6, 1e-12);
  EXPECT_NEAR(scaling->runs[1].efficiency, 0.9, 1e-12);
  EXPECT_NEAR(scaling->runs[1].computation_scaling, 1, 1e-12);
  EXPECT_EQ(scaling->lost, "load_balance");
}

TEST(Scaling, NeitherSaysSo) {
  const auto scaling = scaling_of({run_of(1, 32, 0.01, tree(1, 1, 1, 1)), run_of(4, 96, 0.01, tree(1, 1, 1, 1))});
  ASSERT_TRUE(scaling);
  EXPECT_EQ(scaling->kind, ScalingKind::Mixed);
  EXPECT_NE(scaling->text.find("Neither strong nor weak"), std::string::npos);
  EXPECT_EQ(scaling->lost, "");
  EXPECT_TRUE(to_json(*scaling)["amdahl"].is_null());
}

TEST(Scaling, MoreThanLinearIsExplainedByCaches) {
  RunSummary small = run_of(1, 256, 0.012, tree(1, 1, 1, 1)), large = run_of(4, 256, 0.01, tree(1, 1, 0.95, 1));
  // 4 x 0.95 / 0.01 = 380 over 83.33: 4.56 times. A sample takes 1 - 0.01/0.012 = 17 % less.
  auto scaling = scaling_of({small, large});
  ASSERT_TRUE(scaling);
  EXPECT_NEAR(scaling->runs[1].speedup, 4.56, 1e-9);
  EXPECT_NE(scaling->superlinear.find("17 % less time: cache: a rank's share of the batch shrinks from 256 to 64"),
            std::string::npos)
      << scaling->superlinear;
  // Memory that was full explains it sooner.
  small.memory_bytes = 95e9;
  small.memory_limit_bytes = 100e9;
  scaling = scaling_of({small, large});
  EXPECT_NE(scaling->superlinear.find("less time: memory:"), std::string::npos) << scaling->superlinear;
  // And another batch for a rank.
  large.batch = 2048;
  small.memory_bytes = 0;
  scaling = scaling_of({small, large});
  EXPECT_NE(scaling->superlinear.find("less time: batch:"), std::string::npos) << scaling->superlinear;
  // Nothing differs: it is no wonder, but a measurement to repeat.
  large.batch = 1024;
  scaling = scaling_of({small, large});
  EXPECT_NE(scaling->superlinear.find("measure the smallest run again"), std::string::npos) << scaling->superlinear;
}

TEST(Scaling, MoreThanLinearByWhatTheSmallestRunLost) {
  const auto scaling =
      scaling_of({run_of(1, 256, 0.01, tree(1, 1, 1, 0.5)), run_of(2, 256, 0.01, tree(1, 1, 0.98, 0.9))});
  ASSERT_TRUE(scaling);
  EXPECT_NE(scaling->superlinear.find("input was 0.50 there and is 0.90 here"), std::string::npos)
      << scaling->superlinear;
}

TEST(Scaling, APhaseThatDoesNotShrinkIsNamed) {
  RunSummary small = run_of(1, 256, 0.01, tree(1, 1, 1, 1)), large = run_of(4, 256, 0.01, tree(1, 1, 1, 1));
  small.phases = {{.kind = PhaseKind::Training, .seconds = 90, .share = 0.9},
                  {.kind = PhaseKind::Testing, .seconds = 10, .share = 0.1}};
  large.phases = {{.kind = PhaseKind::Training, .seconds = 22.5, .share = 0.692},
                  {.kind = PhaseKind::Testing, .seconds = 10, .share = 0.308}};
  const auto scaling = scaling_of({small, large});
  ASSERT_TRUE(scaling);
  EXPECT_NE(scaling->text.find("'testing' grows from 10 to 31 %"), std::string::npos) << scaling->text;
  EXPECT_EQ(to_json(*scaling)["runs"][1]["phases"]["training"], 22.5);
}

TEST(Scaling, OfRunsWithTheSameRanksIsNone) {
  EXPECT_FALSE(scaling_of({}));
  EXPECT_FALSE(scaling_of({run_of(2, 32, 0.01, tree(1, 1, 1, 1)), run_of(2, 64, 0.01, tree(1, 1, 1, 1))}));
  RunSummary unknown = run_of(4, 32, 0.01, tree(1, 1, 1, 1));
  unknown.samples_per_second = 0;
  EXPECT_FALSE(scaling_of({run_of(2, 32, 0.01, tree(1, 1, 1, 1)), unknown}));
}

}  // namespace
}  // namespace ronde::report
