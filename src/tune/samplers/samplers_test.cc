#include "ronde/tune/samplers/sampler.h"

#include <set>

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/tune/samplers/samplers_testing.h"

namespace ronde::tune {
namespace {

using tests::kBranin;
using tests::kHartmann6;
using tests::kRosenbrock5;
using tests::losses;
using tests::median_least;

TEST(Gp, FindsTheLeastOfSmoothFunctions) {
  EXPECT_LT(median_least(kBranin, "gp", 5, 35), 0.45) << "the least there is, is 0.398";
  EXPECT_GT(median_least(kBranin, "random", 5, 35), 0.6);
  EXPECT_LT(median_least(kHartmann6, "gp", 3, 50), -2.9) << "the least there is, is -3.322";
  EXPECT_GT(median_least(kHartmann6, "random", 3, 50), -2.3);
  EXPECT_LT(median_least(kRosenbrock5, "gp", 3, 50), 0.05 * median_least(kRosenbrock5, "random", 3, 50));
}

TEST(CmaEs, FindsBetterValuesThanChance) {
  EXPECT_LT(median_least(kBranin, "cmaes", 11, 150), 0.41);
  EXPECT_LT(median_least(kHartmann6, "cmaes", 11, 300), -3.15);
  EXPECT_GT(median_least(kHartmann6, "random", 11, 300), -2.9);
  EXPECT_LT(median_least(kRosenbrock5, "cmaes", 11, 500), 0.01 * median_least(kRosenbrock5, "random", 11, 500));
}

TEST(Evolution, FindsBetterValuesThanChance) {
  const Json small = {{"population_size", 20}, {"sample_size", 8}};
  EXPECT_LT(median_least(kHartmann6, "evolution", 11, 300, small), -3.0);
  EXPECT_GT(median_least(kHartmann6, "random", 11, 300), -2.9);
  EXPECT_LT(median_least(kRosenbrock5, "evolution", 11, 300, small),
            0.2 * median_least(kRosenbrock5, "random", 11, 300));
}

// Some of everything: integers, logarithms, steps, choices, normal variables and what depends on a choice.
const tests::Problem kMixed = {
    {{"lr", {{"loguniform", {1e-5, 1}}}},
     {"width", {{"qrandint", {8, 128, 8}}}},
     {"noise", {{"randn", {0, 1}}}},
     {"kind", {{"choice", {{{"name", "plain"}}, {{"name", "deep"}, {"depth", {{"randint", {1, 21}}}}}}}}},
     {"norm", {{"choice", {"batch", "layer", "none"}}}}},
    [](const Json& config) {
      const double rate = std::log10(config["lr"].get<double>()) + 2;
      const double depth = config["kind"].value("depth", 0);
      return rate * rate + std::abs(config["width"].get<double>() - 64) / 64 + (config["norm"] == "layer" ? 0 : 1) +
             (20 - depth) / 10;
    }};

class EverySampler : public ::testing::TestWithParam<const char*> {};

TEST_P(EverySampler, IsAPureFunctionOfSeedAndPast) {
  const Json options =
      std::string_view(GetParam()) == "evolution" ? Json{{"population_size", 10}, {"sample_size", 4}} : Json::object();
  const auto once = losses(kMixed, GetParam(), 3, 40, options);
  EXPECT_EQ(once, losses(kMixed, GetParam(), 3, 40, options));
  EXPECT_NE(once, losses(kMixed, GetParam(), 4, 40, options));
  // A sampler that was made just now, as after a restart, says the same as one that has seen all.
  const Space space = Space::parse(kMixed.space);
  const SamplerEntry entry = find_sampler(GetParam());
  const auto old = make_sampler(entry, {.seed = 1, .options = options});
  Observations past;
  for (int number = 0; number < 30; ++number) {
    const auto fresh = make_sampler(entry, {.seed = 1, .options = options});
    std::map<std::string, Json> values = old->draw_together(space, past, number);
    EXPECT_EQ(values, fresh->draw_together(space, past, number)) << number;
    for (const auto& [path, domain] : space.parameters())
      if (!values.contains(path)) values[path] = old->draw_one(path, domain, past, number);
    for (const auto& [path, domain] : space.parameters())
      EXPECT_TRUE(!domain.is_number() || (values[path] >= domain.low && values[path] <= domain.high)) << path;
    past.push_back({.number = number, .values = values});
    // The last few still run, and one of them ends late.
    const auto end = [&](std::size_t i) {
      past[i].state = i % 7 == 3 ? Observation::State::Pruned : Observation::State::Complete;
      past[i].loss = std::abs(std::log10(values["lr"].get<double>()) + 2);
    };
    if (number >= 2 && number != 12) end(static_cast<std::size_t>(number) - 2);
    if (number == 20) end(10);
  }
}

TEST_P(EverySampler, RefusesOptionsThatItDoesNotRead) {
  EXPECT_THROW(make_sampler(find_sampler(GetParam()), {.options = {{"magic", 1}}}), Error);
}

INSTANTIATE_TEST_SUITE_P(All, EverySampler, ::testing::Values("random", "tpe", "gp", "cmaes", "evolution", "bohb"),
                         [](const auto& each) { return std::string(each.param); });

TEST(Bohb, FindsBetterValuesThanChance) {
  EXPECT_LT(median_least(kBranin, "bohb", 11, 100), 0.8 * median_least(kBranin, "random", 11, 100));
  EXPECT_LT(median_least(kRosenbrock5, "bohb", 11, 200), 0.75 * median_least(kRosenbrock5, "random", 11, 200));
  EXPECT_LT(median_least(kMixed, "bohb", 5, 100), 0.9 * median_least(kMixed, "random", 5, 100));
}

TEST(Bohb, BelievesTheLargestBudgetThatEnoughHaveReached) {
  const Space space = Space::parse({{"x", {{"uniform", {0, 1}}}}});
  const auto sampler = make_sampler(find_sampler("bohb"), {.seed = 3, .options = {{"random_fraction", 0}}});
  Observations past;
  // After one iteration small values look good, after nine large ones are.
  for (int i = 0; i < 40; ++i) {
    const double x = i / 40.0;
    past.push_back({.number = i, .state = Observation::State::Pruned, .values = {{"x", x}}, .steps = {{1, x}}});
    if (i % 2 == 0) past.back().steps.emplace_back(9, 1 - x);
  }
  double mean = 0;
  for (int number = 40; number < 60; ++number)
    mean += sampler->draw_together(space, past, number).at("x").get<double>() / 20;
  EXPECT_GT(mean, 0.7);
  for (Observation& each : past)
    if (each.steps.size() > 1 && each.number > 3) each.steps.pop_back();  // two are too few
  mean = 0;
  for (int number = 40; number < 60; ++number)
    mean += sampler->draw_together(space, past, number).at("x").get<double>() / 20;
  EXPECT_LT(mean, 0.3);
}

TEST(Gp, LearnsFromChoicesAndSteps) {
  EXPECT_LT(median_least(kMixed, "gp", 3, 40), 0.75 * median_least(kMixed, "random", 3, 40));
}

TEST(Evolution, InheritsWhatDependsOnAChoice) {
  const auto values = losses(kMixed, "evolution", 1, 300, {{"population_size", 20}, {"sample_size", 10}});
  const double late = *std::ranges::min_element(values.begin() + 200, values.end());
  EXPECT_LT(late, 0.3) << "the deepest network, of depth 20, and all else right";
}

TEST(Evolution, AChildDiffersInOneValue) {
  const Space space = Space::parse(kHartmann6.space);
  const auto sampler = make_sampler(find_sampler("evolution"), {.options = {{"population_size", 5}}});
  Observations past;
  for (int i = 0; i < 5; ++i) {
    past.push_back({.number = i, .values = sampler->draw_together(space, past, i)});
    past.back().state = Observation::State::Complete;
    past.back().loss = i == 3 ? 0 : 1;
  }
  std::set<std::string> changed;
  for (int number = 5; number < 60; ++number) {
    const auto child = sampler->draw_together(space, past, number);
    int differences = 0;
    for (const auto& [path, value] : child)
      if (value != past[3].values.at(path)) {
        ++differences;
        changed.insert(path);
      }
    EXPECT_EQ(differences, 1);
  }
  EXPECT_EQ(changed.size(), 6u) << "each of them at some time";
}

TEST(Sobol, FillsTheSpaceEvenlyWhateverItIs) {
  for (const Json& options : {Json{{"scramble", false}}, Json{{"scramble", true}}}) {
    const auto sampler = make_sampler(find_sampler("sobol"), {.seed = 5, .options = options});
    const Space space = Space::parse({{"n", {{"randint", {0, 16}}}}, {"c", {{"choice", {"a", "b"}}}}});
    std::map<Json, int> numbers, choices;
    for (int i = 0; i < 64; ++i) {
      const auto values = sampler->draw_together(space, {}, i);
      ++numbers[values.at("n")];
      ++choices[values.at("c")];
    }
    EXPECT_EQ(numbers.size(), 16u);
    EXPECT_NEAR(choices["a"], 32, 1);
    for (const auto& [value, count] : numbers) EXPECT_TRUE(count == 4 || options["scramble"] == true) << value;
  }
}

TEST(CmaEs, RefusesTooSmallAPopulation) {
  EXPECT_THROW(make_sampler(find_sampler("cmaes"), {.options = {{"popsize", 2}}}), Error);
}

}  // namespace
}  // namespace ronde::tune
