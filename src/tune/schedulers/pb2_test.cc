#include <cmath>

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/tune/schedulers/changing_process.h"
#include "ronde/tune/schedulers/scheduler.h"

namespace ronde::tune {
namespace {

std::unique_ptr<Scheduler> scheduler(std::uint64_t seed, const char* name = "pb2") {
  Json options = {{"perturbation_interval", 1}};
  if (std::string(name) == "pb2")
    options["hyperparam_bounds"] = {{"lr", {0, 1}}, {"net/width", {10, 100}}};
  else
    options["hyperparam_mutations"] = {{"lr", {{"uniform", {0, 1}}}}};
  return make_scheduler(find_scheduler(name), {.seed = seed, .options = options, .slots = 8});
}

// Scores grow fastest with a rate of 0.3. Returns the best score after so many rounds of eight trials.
double best_of(const std::unique_ptr<Scheduler>& by, int rounds) {
  constexpr int kTrials = 8;
  std::vector<double> scores(kTrials);
  std::vector<Json> configs(kTrials);
  for (int i = 0; i < kTrials; ++i) {
    configs[static_cast<std::size_t>(i)] = {{"lr", 0.6 + 0.05 * i}, {"net", {{"width", 50}}}};
    by->on_add(i, configs[static_cast<std::size_t>(i)]);
  }
  for (int round = 1; round <= rounds; ++round)
    for (int i = 0; i < kTrials; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const double off = configs[at]["lr"].get<double>() - 0.3;
      scores[at] += std::exp(-off * off / 0.02);
      const Decision decision =
          by->on_report({.trial = i, .time = double(round), .score = scores[at], .config = configs[at]});
      if (decision.kind != Decision::Kind::Exploit) continue;
      scores[at] = scores[static_cast<std::size_t>(decision.source)];
      configs[at] = decision.config;
      EXPECT_TRUE(configs[at]["net"]["width"].is_number_integer());
    }
  return *std::ranges::max_element(scores);
}

TEST(Pb2, FindsRatesThatNoTrialBeganWith) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const double best = best_of(scheduler(seed), 30);
    EXPECT_GT(best, 15) << "of at most 30; the best of the first rates grows by " << std::exp(-0.09 / 0.02)
                        << " a time";
  }
}

TEST(Pb2, IsAPureFunctionOfItsSeedAndReports) {
  EXPECT_EQ(best_of(scheduler(7), 12), best_of(scheduler(7), 12));
}

TEST(Pb2, DrawsWhatIsMissingAndRefusesWhatIsNoRange) {
  Json config = Json::object();
  scheduler(1)->on_add(0, config);
  EXPECT_GE(config["net"]["width"].get<double>(), 10);
  EXPECT_LE(config["net"]["width"].get<double>(), 100);
  for (const Json& bounds : {Json::object(), Json{{"lr", {1, 0}}}, Json{{"lr", 3}}, Json{{"lr", {0, "x"}}}})
    EXPECT_THROW(make_scheduler(find_scheduler("pb2"), {.options = {{"hyperparam_bounds", bounds}}}), Error) << bounds;
}

TEST(ChangingProcess, KnowsWhereItHasBeenAndForgets) {
  using Row = ChangingProcess::Row;
  std::vector<Row> rows;
  for (int i = 0; i <= 20; ++i) {
    const double x = i / 20.0;
    rows.push_back({{.time = 0, .score = 0, .point = {x}}, -(x - 0.4) * (x - 0.4)});
  }
  const ChangingProcess process(rows, {});
  EXPECT_GT(process.predict({0, 0, {0.4}}).mean, process.predict({0, 0, {0.9}}).mean + 1);
  EXPECT_LT(process.predict({0, 0, {0.5}}).variance, process.predict({50, 0, {0.5}}).variance);
  const std::vector<std::vector<double>> starts = {{0.1}, {0.9}};
  EXPECT_NEAR(process.most_promising(0, 0, starts)[0], 0.4, 0.1);
  const std::vector<ChangingProcess::Place> running = {{50, 0, {0.5}}};
  EXPECT_LT(ChangingProcess(rows, running).predict({50, 0, {0.5}}).variance,
            process.predict({50, 0, {0.5}}).variance / 2);
}

}  // namespace
}  // namespace ronde::tune
