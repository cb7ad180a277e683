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
    EXPECT_NE(std::string(error.what()).find("there are: span"), std::string::npos);
  }
}

}  // namespace
}  // namespace ronde::bench
