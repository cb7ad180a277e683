#include "ronde/tune/output/overview.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace ronde::tune {
namespace {

using std::chrono::seconds;

Search some_search(int samples) {
  SearchOptions options;
  options.space = {{"lr", {{"grid_search", {0.1, 0.2, 0.3}}}}, {"fixed", 3}};
  options.metric = "loss";
  options.mode = "min";
  options.samples = samples;
  options.stop = {{"training_iteration", 2}};
  return Search(options);
}

void report(Search& search, int trial, const Json& loss) {
  Json result = {{"loss", loss}};
  search.report(trial, result, 1.5);
}

TEST(Overview, TellsHowASearchStands) {
  Search search = some_search(1);
  EXPECT_EQ(headline(search, {.elapsed = seconds(0)}), "0/3 trials done");
  for (int i = 0; i < 3; ++i) search.next();
  report(search, 0, 0.5);
  search.ended(0);
  report(search, 1, 0.25);
  search.failed(2, "a reason");
  EXPECT_EQ(search.counts(), (TrialCounts{.running = 1, .terminated = 1, .failed = 1}));
  EXPECT_EQ(headline(search, {.elapsed = seconds(62)}),
            "2/3 trials done, 1 failed, 1 running, best loss 0.25 (trial 1), 1 min 2 s, about 31 s left");
  EXPECT_EQ(by_score(search), (std::vector<int>{1, 0, 2}));
  EXPECT_EQ(trial_table(search, by_score(search)).text(),
            "trial  state   iterations  loss   time   lr\n"
            "    1  runs             1  0.25  1.5 s  0.2\n"
            "    0  done             1   0.5  1.5 s  0.1\n"
            "    2  failed           0               0.3\n");
}

TEST(Overview, GuessesTheTimeThatIsLeft) {
  Search search = some_search(2);
  EXPECT_FALSE(time_left(search, {.elapsed = seconds(5)}));
  for (int i = 0; i < 3; ++i) search.next();
  for (int i = 0; i < 2; ++i) search.ended(i);
  EXPECT_EQ(time_left(search, {.elapsed = seconds(10)}), seconds(20)) << "4 trials at 5 s";
  EXPECT_EQ(time_left(search, {.elapsed = seconds(10), .done_before = 1}), seconds(40));
  EXPECT_EQ(time_left(search, {.elapsed = seconds(10), .time_budget = seconds(15)}), seconds(5));
  EXPECT_FALSE(time_left(search, {.elapsed = seconds(10), .done_before = 2}));
  Search endless = some_search(-1);
  EXPECT_FALSE(time_left(endless, {.elapsed = seconds(5)}));
}

TEST(Overview, FitsItsLines) {
  Search search = some_search(20);
  for (int i = 0; i < 40; ++i) {
    search.next();
    report(search, i, i);
    if (i < 30) search.ended(i);
  }
  for (const std::size_t lines : {1u, 4u, 10u}) {
    const std::string text = overview(search, {.elapsed = seconds(1)}, lines);
    EXPECT_LE(static_cast<std::size_t>(std::ranges::count(text, '\n')), lines) << text;
  }
  const std::string text = overview(search, {.elapsed = seconds(1)}, 10);
  EXPECT_NE(text.find("\n      0  done"), std::string::npos) << text;
  EXPECT_NE(text.find("runs"), std::string::npos) << text;
}

}  // namespace
}  // namespace ronde::tune
