#include "ronde/bench/detail/bars.h"

#include <gtest/gtest.h>

namespace ronde::bench::detail {
namespace {

using Json = nlohmann::ordered_json;

Json row(int ranks, std::size_t bytes, double ours, double link, Json mpi, const char* memory = "heap") {
  return {{"ranks", ranks},    {"bytes", bytes},
          {"dtype", "f32"},    {"memory", memory},
          {"median_us", ours}, {"link_us", link},
          {"mpi_us", mpi},     {"ratio_mpi", mpi.is_null() ? mpi : Json(mpi.get<double>() / ours)}};
}

const Bar* find_bar(const std::vector<Bar>& bars, const std::string& key) {
  for (const Bar& bar : bars)
    if (bar.key == key) return &bar;
  return nullptr;
}

TEST(Bars, TwoRanks) {
  Json rows = Json::array();
  rows.push_back(row(2, 4, 12, 0.5, 0.4));
  rows.push_back(row(2, 1024, 15, 1.9, 0.6));
  rows.push_back(row(2, 1 << 20, 100, 90, 200));
  rows.push_back(row(2, 1 << 20, 1, 1, 200, "shared"));
  rows.push_back(row(2, 64 << 20, 1000, 900, 8000));
  const auto bars = allreduce_bars(rows);
  EXPECT_DOUBLE_EQ(find_bar(bars, "mean_ratio_mpi")->value, 4.0);
  EXPECT_TRUE(find_bar(bars, "mean_ratio_mpi")->met());
  EXPECT_DOUBLE_EQ(find_bar(bars, "worst_ratio_mpi")->value, 2.0);
  EXPECT_DOUBLE_EQ(find_bar(bars, "worst_small_us")->value, 15.0);
  EXPECT_DOUBLE_EQ(find_bar(bars, "worst_link_over_mpi_us")->value, 1.9 - 0.6);
  EXPECT_FALSE(find_bar(bars, "worst_link_over_mpi_us")->met());
  EXPECT_EQ(find_bar(bars, "worst_ratio_gloo"), nullptr) << "nothing is known about gloo";
}

TEST(Bars, MoreRanksThanTwoAreJudgedByTheLinkWhereMessagesAreSmall) {
  Json rows = Json::array();
  rows.push_back(row(4, 4, 50, 10, 13));
  rows.push_back(row(4, 1 << 20, 500, 400, 595));
  const auto bars = allreduce_bars(rows);
  EXPECT_DOUBLE_EQ(find_bar(bars, "worst_link_ratio_mpi")->value, 1.3);
  EXPECT_DOUBLE_EQ(find_bar(bars, "worst_ratio_mpi")->value, 1.19);
  EXPECT_EQ(find_bar(bars, "worst_small_us"), nullptr);
}

TEST(Bars, TheWorstSpreadOfSingleCallsIsJudged) {
  Json rows = Json::array();
  for (const auto& [p50, p90] : {std::pair(10.0, 12.0), {2.0, 8.0}, {100.0, 110.0}}) {
    rows.push_back(row(4, 1024, p50, 1, nullptr));
    rows.back()["p50_us"] = p50;
    rows.back()["p90_us"] = p90;
  }
  const auto bars = allreduce_bars(rows);
  EXPECT_DOUBLE_EQ(find_bar(bars, "worst_p90_over_p50")->value, 4.0);
  EXPECT_FALSE(find_bar(bars, "worst_p90_over_p50")->met());
}

TEST(Bars, APeerThatIsMissingIsNotJudged) {
  Json rows = Json::array();
  rows.push_back(row(2, 4, 12, 0.5, nullptr));
  const auto bars = allreduce_bars(rows);
  ASSERT_EQ(bars.size(), 1u);
  EXPECT_EQ(bars.front().key, "worst_small_us");
}

}  // namespace
}  // namespace ronde::bench::detail
