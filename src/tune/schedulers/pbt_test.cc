#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/tune/schedulers/explore.h"
#include "ronde/tune/schedulers/scheduler.h"

namespace ronde::tune {
namespace {

using Kind = Decision::Kind;

const Json kMutations = {{"lr", {{"uniform", {0.001, 1}}}}, {"batch", {16, 32, 64}}};

std::unique_ptr<Scheduler> population(int trials, Json options = Json::object(), int slots = 8) {
  options["hyperparam_mutations"] = kMutations;
  options["perturbation_interval"] = 2;
  auto scheduler = make_scheduler(find_scheduler("pbt"), {.seed = 5, .options = options, .slots = slots});
  for (int i = 0; i < trials; ++i) {
    Json config = {{"lr", 0.1 * (i + 1)}, {"batch", 32}};
    scheduler->on_add(i, config);
  }
  return scheduler;
}

TEST(Pbt, TheWorstTakesOverFromTheBest) {
  const auto scheduler = population(4);
  EXPECT_EQ(scheduler->on_report({.trial = 3, .time = 1, .score = 9}).kind, Kind::Continue) << "before the interval";
  EXPECT_EQ(scheduler->on_report({.trial = 1, .time = 2, .score = 1}), Decision{});
  const Decision best = scheduler->on_report({.trial = 3, .time = 2, .score = 9});
  EXPECT_EQ(best.kind, Kind::Continue);
  EXPECT_TRUE(best.save) << "others may take over its weights";
  EXPECT_EQ(scheduler->on_report({.trial = 2, .time = 2, .score = 5}), Decision{});
  const Decision worst = scheduler->on_report({.trial = 0, .time = 2, .score = 0});
  EXPECT_EQ(worst.kind, Kind::Exploit);
  EXPECT_EQ(worst.source, 3);
  const auto lr = worst.config["lr"].get<double>();
  EXPECT_TRUE(std::abs(lr - 0.4 * 1.2) < 1e-12 || std::abs(lr - 0.4 * 0.8) < 1e-12 || (lr >= 0.001 && lr < 1)) << lr;
  EXPECT_TRUE(std::set<int>({16, 32, 64}).contains(worst.config["batch"].get<int>()));
}

TEST(Pbt, ASourceWithoutACheckpointIsNotTaken) {
  const auto scheduler = population(2);
  // The first report comes when nobody else has a score: it is neither among the best nor saved.
  EXPECT_EQ(scheduler->on_report({.trial = 1, .time = 2, .score = 9}), Decision{});
  EXPECT_EQ(scheduler->on_report({.trial = 0, .time = 2, .score = 0}), Decision{});
}

TEST(Pbt, MissingValuesAreDrawnAtTheStart) {
  auto scheduler = population(0);
  Json config = {{"epochs", 3}};
  scheduler->on_add(0, config);
  EXPECT_EQ(config["epochs"], 3);
  EXPECT_TRUE(config["lr"].is_number_float());
  EXPECT_TRUE(config["batch"].is_number_integer());
}

TEST(Pbt, WithMoreTrialsThanSlotsTheLeastTrainedRunsNext) {
  const auto scheduler = population(3, {}, 2);
  EXPECT_EQ(scheduler->on_report({.trial = 0, .time = 2, .score = 1}).kind, Kind::Pause);
  EXPECT_EQ(scheduler->on_report({.trial = 1, .time = 4, .score = 2}).kind, Kind::Pause);
  const std::vector<int> paused = {0, 1};
  EXPECT_EQ(scheduler->resume(paused, true, 0), 0);
}

TEST(Pbt, TheFirstOfAPopulationPauseUntilItIsComplete) {
  for (const bool synch : {false, true}) {
    const auto scheduler = population(1, {{"synch", synch}}, 1);
    const Decision first = scheduler->on_report({.trial = 0, .time = 2, .score = 9, .others_to_come = true});
    EXPECT_EQ(first.kind, Kind::Pause) << "one slot: alone, it would be done before the second begins";
    EXPECT_TRUE(first.save);
    const std::vector<int> paused = {0};
    EXPECT_EQ(scheduler->resume(paused, false, 0), std::nullopt) << "the second starts";
    Json config = {{"lr", 0.2}, {"batch", 32}};
    scheduler->on_add(1, config);
    EXPECT_EQ(scheduler->on_report({.trial = 1, .time = 2, .score = 1}).kind, Kind::Exploit);
  }
}

TEST(Pbt, InStepAllPauseAndThenTheWorstTakeOver) {
  const auto scheduler = population(4, {{"synch", true}});
  for (int trial = 0; trial < 3; ++trial)
    EXPECT_EQ(scheduler->on_report({.trial = trial, .time = 2, .score = trial * 1.0}).kind, Kind::Pause);
  EXPECT_TRUE(scheduler->others().empty());
  const Decision last = scheduler->on_report({.trial = 3, .time = 2, .score = 3});
  EXPECT_EQ(last.kind, Kind::Continue);
  EXPECT_TRUE(last.save);
  const auto others = scheduler->others();
  ASSERT_EQ(others.size(), 1u);
  EXPECT_EQ(others[0].first, 0);
  EXPECT_EQ(others[0].second.kind, Kind::Exploit);
  EXPECT_EQ(others[0].second.source, 3);
}

TEST(Explore, KeepsIntegersAndMovesToNeighbours) {
  ExploreOptions options{
      .mutations = {{"a", {1, 2, 3, 4}}, {"n", {{"randint", {1, 100}}}}, {"t", {{"x", {{"uniform", {0, 1}}}}}}},
      .resample_probability = 0};
  std::set<int> places, numbers;
  Random random(3);
  for (int i = 0; i < 100; ++i) {
    const Json changed = explore({{"a", 4}, {"n", 4}, {"t", {{"x", 0.5}}}, {"rest", "kept"}}, options, random);
    places.insert(changed["a"].get<int>());
    ASSERT_TRUE(changed["n"].is_number_integer());
    numbers.insert(changed["n"].get<int>());
    EXPECT_EQ(changed["rest"], "kept");
    EXPECT_TRUE(changed["t"]["x"] == 0.5 * 1.2 || changed["t"]["x"] == 0.5 * 0.8);
  }
  EXPECT_EQ(places, (std::set<int>{3, 4})) << "clamped at the end of the list";
  EXPECT_EQ(numbers, (std::set<int>{3, 4})) << "4 x 1.2 is cut to 4";
}

TEST(Explore, DrawsAnewWithItsProbability) {
  const ExploreOptions options{.mutations = {{"a", {1, 2}}}, .resample_probability = 1};
  Random random(4);
  int ones = 0;
  for (int i = 0; i < 1000; ++i) ones += explore({{"a", 7}}, options, random)["a"] == 1;
  EXPECT_NEAR(ones, 500, 60);
  EXPECT_THROW(check_mutations({{"a", 3}}), Error);
  EXPECT_THROW(check_mutations({{"a", Json::array()}}), Error);
  EXPECT_THROW(check_mutations({{"a", {{"b", "x"}}}}), Error);
}

}  // namespace
}  // namespace ronde::tune
