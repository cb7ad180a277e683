#include "ronde/bench/comm/costs.h"

#include <gtest/gtest.h>

namespace ronde::bench::detail {
namespace {

using Json = nlohmann::ordered_json;

Json row(const char* memory, double bytes, const Json& link_us, const Json& mpi_us) {
  return {
      {"ranks", 2},         {"bytes", bytes},   {"dtype", "f32"},  {"memory", memory}, {"median_us", 5 + bytes * 1e-4},
      {"link_us", link_us}, {"mpi_us", mpi_us}, {"ratio_mpi", 1.0}};
}

TEST(Costs, EveryColumnOfTimesIsFittedByTypeAndMemory) {
  Json rows = Json::array();
  for (double bytes = 4; bytes < 1e8; bytes *= 8) {
    rows.push_back(row("heap", bytes, 2 + bytes * 1e-4, nullptr));
    rows.push_back(row("shared", bytes, 1 + bytes * 5e-5, 10 + bytes * 1e-3));
  }
  const auto sections = cost_sections(rows, 1);
  ASSERT_EQ(sections.size(), 2u);
  const Json& fits = sections[0].rows;
  ASSERT_EQ(fits.size(), 5u) << "mpi has no figures for heap";
  EXPECT_EQ(fits[0]["contestant"], "ronde");
  EXPECT_EQ(fits[4]["contestant"], "mpi");
  EXPECT_NEAR(fits[4]["latency_us"].get<double>(), 10, 1e-6);
  EXPECT_NEAR(fits[4]["gb_per_s"].get<double>(), 1, 1e-6);
  const Json& table = sections[1].rows;
  ASSERT_EQ(table.size(), 2u);
  EXPECT_EQ(table[0]["algorithm"], "shm");
  EXPECT_EQ(table[0]["from_bytes"], 0);
  EXPECT_TRUE(table[0]["to_bytes"].is_null());
}

TEST(Costs, SeveralAlgorithmsShareTheSizes) {
  Json rows = Json::array();
  for (double bytes = 4; bytes < 1e8; bytes *= 8) {
    Json one = row("heap", bytes, nullptr, nullptr);
    one["doubling_us"] = 50 + bytes * 8e-3;
    one["ring_us"] = 400 + bytes * 1e-3;
    rows.push_back(one);
  }
  const auto table = cost_sections(rows, 2).at(1).rows;
  ASSERT_EQ(table.size(), 2u);
  EXPECT_EQ(table[0]["algorithm"], "doubling");
  EXPECT_EQ(table[0]["to_bytes"], 50'000);
  EXPECT_EQ(table[1]["algorithm"], "ring");
  EXPECT_EQ(table[1]["nodes"], 2);
}

TEST(Costs, OneSizeTellsNothing) {
  EXPECT_TRUE(cost_sections(Json::array({row("heap", 4, 1.0, 2.0)}), 1).empty());
}

}  // namespace
}  // namespace ronde::bench::detail
