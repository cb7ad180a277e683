#include "ronde/bench/bench.h"

#include <set>

#include <gtest/gtest.h>

#include "ronde/base/error.h"

namespace ronde::bench {
namespace {

TEST(Bench, ReportsAsTableAndAsJson) {
  Report report{.name = "x"};
  report.rows.push_back({{"bytes", 4}, {"median_us", 1.25}, {"link", "shm"}});
  report.rows.push_back({{"bytes", 1048576}, {"median_us", 219.5678}, {"link", "mpi"}});
  EXPECT_EQ(to_text(report), "  bytes  median_us  link\n      4       1.25  shm\n1048576      219.6  mpi\n");
  const auto json = to_json(report);
  EXPECT_EQ(json["bench"], "x");
  EXPECT_EQ(json["version"], 1);
  EXPECT_EQ(json["rows"].size(), 2u);
  EXPECT_TRUE(json["host"].contains("cpu"));
  EXPECT_FALSE(json.contains("summary"));
}

TEST(Bench, WhatIsMissingAndWhatIsLargeReadsWell) {
  Report report{.name = "x"};
  report.rows.push_back({{"mpi_us", nullptr}, {"median_us", 35601.25}});
  report.rows.push_back({{"mpi_us", 0.4}, {"median_us", 0.21337}});
  EXPECT_EQ(to_text(report), "mpi_us  median_us\n     -      35601\n   0.4     0.2134\n");
}

TEST(Bench, SectionsAreTablesOfTheirOwn) {
  Report report{.name = "x"};
  report.rows.push_back({{"bytes", 4}});
  report.sections = {{.key = "fits", .words = "Fitted:"}};
  report.sections[0].rows.push_back({{"latency_us", 2.5}});
  EXPECT_EQ(to_text(report), "bytes\n    4\n\nFitted:\nlatency_us\n       2.5\n");
  EXPECT_EQ(to_json(report)["fits"][0]["latency_us"], 2.5);
}

TEST(Bench, BarsAreWordsBelowTheTableAndASummaryInJson) {
  Report report{.name = "x"};
  report.rows.push_back({{"bytes", 4}});
  report.bars = {{"mean_ratio_mpi", "MPI over Ronde", 4.5, 4, true}, {"worst_small_us", "small, us", 25, 20, false}};
  EXPECT_EQ(to_text(report),
            "bytes\n    4\n\nMPI over Ronde: 4.5 (bar: at least 4; met)\nsmall, us: 25 (bar: at most 20; missed)\n");
  const auto summary = to_json(report)["summary"];
  EXPECT_EQ(summary["mean_ratio_mpi"], (nlohmann::ordered_json{{"value", 4.5}, {"bar", 4.0}, {"met", true}}));
  EXPECT_EQ(summary["worst_small_us"]["met"], false);
}

TEST(Bench, NamesAreDistinctAndAnUnknownOneListsThem) {
  std::set<std::string_view> names;
  for (const Benchmark& benchmark : all()) EXPECT_TRUE(names.insert(benchmark.name).second);
  EXPECT_EQ(find("span").name, "span");
  try {
    find("spam");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), 2);
    EXPECT_NE(std::string(error.what())
                  .find("choose one of allreduce, control, decode, nodes, python, records, report, roofline, span"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace ronde::bench
