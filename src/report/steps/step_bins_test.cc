#include "ronde/report/steps/step_bins.h"

#include <gtest/gtest.h>

#include "ronde/report/json/json_parts.h"
#include "ronde/report/page/page.h"

namespace ronde::report {
namespace {

// So many steps of 10 to 12 ms; each rank works a little longer than the one before. Step 777 takes a second.
StepTable table_of(std::size_t ranks, std::size_t steps) {
  StepTable table;
  for (std::size_t i = 0; i < steps; ++i) {
    table.numbers.push_back(static_cast<std::int64_t>(100 + i));
    table.seconds.push_back(i == 777 ? 1.0 : 0.010123456 + 1e-6 * static_cast<double>(i % 1999));
    table.slowest.push_back(static_cast<int>(ranks) - 1);
  }
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    table.ranks.push_back({.rank = static_cast<int>(rank), .host = "node" + std::to_string(rank / 8)});
    table.ranks.back().all = {.total = 100.123456789 + 1e-3 * static_cast<double>(rank),
                              .compute = 90.123456789 + 1e-3 * static_cast<double>(rank)};
  }
  return table;
}

void fill_steps(StepTable& table) {
  for (RankSteps& rank : table.ranks)
    for (const double seconds : table.seconds)
      rank.steps.push_back({.total = seconds, .compute = 0.7 * seconds, .optimizer = 0.3 * seconds});
}

TEST(StepBins, FewStepsHaveABinEach) {
  const StepTable table = table_of(1, 3);
  EXPECT_EQ(bins_of(table, 3), (std::vector<StepBin>{{0, 0, 0}, {1, 1, 1}, {2, 2, 2}}));
  EXPECT_TRUE(bins_of({}, 3).empty());
}

TEST(StepBins, TheLongestStandsForItsNeighbours) {
  const StepTable table = table_of(1, 1000);
  const auto bins = bins_of(table, 7);  // 143 steps each
  ASSERT_EQ(bins.size(), 7u);
  EXPECT_EQ(bins.front(), (StepBin{0, 142, 142}));
  EXPECT_EQ(bins[5], (StepBin{715, 857, 777}));
  EXPECT_EQ(bins.back(), (StepBin{858, 999, 999}));
}

TEST(StepBins, RanksAreChosenFromMostWorkToLeast) {
  StepTable table = table_of(100, 1);
  EXPECT_EQ(chosen_ranks(table, 100).size(), 100u);
  const auto few = chosen_ranks(table, 3);
  EXPECT_EQ(few, (std::vector<std::size_t>{0, 50, 99}));
  table.slow.rank = 42;
  const auto named = chosen_ranks(table, 3);
  EXPECT_EQ(named.size(), 3u);
  EXPECT_NE(std::ranges::find(named, 42u), named.end());
}

TEST(StepBins, AShortRunIsInTheDocumentStepByStep) {
  StepTable table = table_of(4, 1000);
  fill_steps(table);
  const auto json = to_json(table);
  EXPECT_EQ(json["numbers"], table.numbers);
  EXPECT_EQ(json["seconds"], table.seconds);
  EXPECT_EQ(json["stack"].size(), 4u);
  EXPECT_EQ(json["stack"][3]["compute"].size(), 1000u);
  EXPECT_EQ(json["left_out"], "");
  EXPECT_FALSE(json.contains("first"));
}

TEST(StepBins, ALongRunIsBinned) {
  StepTable table = table_of(8, 100'000);
  fill_steps(table);
  const auto json = to_json(table);
  const auto& numbers = json["numbers"];
  EXPECT_LT(numbers.size(), 10'000u);
  EXPECT_GT(numbers.size(), 1000u);
  for (const char* key : {"seconds", "slowest", "first", "last"}) EXPECT_EQ(json[key].size(), numbers.size()) << key;
  EXPECT_EQ(json["stack"][0]["compute"].size(), numbers.size());
  EXPECT_EQ(json["first"].front(), 100);
  EXPECT_EQ(json["last"].back(), 100 + 99'999);
  EXPECT_EQ(json["seconds"].get<std::vector<double>>().at(777 / (100'000 / numbers.size())), 1.0)
      << "a slow step is seen";
  EXPECT_NE(json["left_out"].get<std::string>().find("100000 steps"), std::string::npos) << json["left_out"];
}

// The steps of all ranks together would be gigabytes: each rank's steps are those of the first one.
TEST(StepBins, APageOfAThousandRanksAndAHundredThousandStepsIsBelow5Megabytes) {
  StepTable table = table_of(1024, 100'000);
  const auto bins = bins_of(table, 100'000);
  ASSERT_EQ(bins.size(), 100'000u);
  const auto steps_of = [&](std::size_t place, std::size_t step) {
    const double seconds = table.seconds[step] * (1 + 1e-4 * static_cast<double>(place));
    return Shares{.total = seconds,
                  .compute = 0.7 * seconds,
                  .optimizer = 0.1 * seconds,
                  .exposed = 0.1 * seconds,
                  .input = 0.05 * seconds,
                  .idle = 0.05 * seconds};
  };
  const auto json = to_json(table, steps_of);
  EXPECT_EQ(json["ranks"].size(), 1024u);
  EXPECT_GE(json["numbers"].size(), 100u);
  const std::string page = page_of_json({{"ronde_report", 1}, {"steps", json}});
  EXPECT_LT(page.size(), 3'500'000u) << "5 MB with a timeline";
  EXPECT_GT(page.size(), 1'000'000u);
}

}  // namespace
}  // namespace ronde::report
