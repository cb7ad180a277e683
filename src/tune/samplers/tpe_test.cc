#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "ronde/tune/samplers/parzen.h"
#include "ronde/tune/samplers/samplers_testing.h"

namespace ronde::tune {
namespace {

const Space kSpace = Space::parse({{"x", {{"uniform", {-3, 5}}}},
                                   {"n", {{"qrandint", {0, 8, 2}}}},
                                   {"lr", {{"loguniform", {1e-4, 1}}}},
                                   {"c", {{"choice", {"a", "b", "c"}}}}});

std::vector<std::map<std::string, Json>> drawn(int count) {
  std::vector<std::map<std::string, Json>> all;
  Random random(2);
  for (int i = 0; i < count; ++i) {
    auto& values = all.emplace_back();
    for (const auto& parameter : kSpace.parameters()) values[parameter.path] = draw(parameter.domain, random);
  }
  return all;
}

// Sums the density of one parameter over its range, or its choices.
double mass(const Space::Parameter& parameter, const std::vector<const std::map<std::string, Json>*>& observed) {
  const std::vector<Space::Parameter> one = {parameter};
  const Parzen density(one, observed);
  double sum = 0;
  const auto add = [&](double point, double width) {
    sum += std::exp(density.log_density(std::span(&point, 1))) * width;
  };
  const Domain& domain = parameter.domain;
  if (domain.kind == Domain::Kind::Choice)
    for (std::size_t i = 0; i < domain.choices.size(); ++i) add(static_cast<double>(i), 1);
  else if (domain.step > 0)
    for (double value = domain.low; value <= domain.high; value += domain.step) add(value, 1);
  else {
    const double low = domain.log ? std::log(domain.low) : domain.low,
                 high = domain.log ? std::log(domain.high) : domain.high;
    constexpr int kSteps = 4000;
    for (int i = 0; i < kSteps; ++i) add(low + (high - low) * (i + 0.5) / kSteps, (high - low) / kSteps);
  }
  return sum;
}

TEST(Parzen, IsADensity) {
  for (const int count : {0, 1, 2, 40}) {
    const auto values = drawn(count);
    std::vector<const std::map<std::string, Json>*> observed;
    for (const auto& each : values) observed.push_back(&each);
    for (const auto& parameter : kSpace.parameters())
      EXPECT_NEAR(mass(parameter, observed), 1, 2e-3) << parameter.path << " of " << count;
  }
}

TEST(Parzen, DrawsWhatItsDensitySays) {
  const std::map<std::string, Json> one = {{"x", 4.0}, {"n", 2}, {"lr", 0.01}, {"c", "b"}};
  const std::vector<const std::map<std::string, Json>*> observed(12, &one);
  const Parzen density(kSpace.parameters(), observed);
  Random random(9);
  double near = 0, b = 0;
  for (int i = 0; i < 2000; ++i) {
    const std::vector<double> point = density.draw(random);
    const Json c = Parzen::value(kSpace.parameters()[0].domain, point[0]);
    const auto x = Parzen::value(kSpace.parameters()[3].domain, point[3]).get<double>();
    ASSERT_TRUE(x >= -3 && x < 5);
    near += std::abs(x - 4) < 1;
    b += c == "b";
  }
  EXPECT_GT(near / 2000, 0.6);
  EXPECT_GT(b / 2000, 0.8);
}

TEST(Parzen, OldObservationsCountLess) {
  EXPECT_EQ(weights_by_age(24), std::vector<double>(24, 1));
  const auto weights = weights_by_age(35);
  EXPECT_NEAR(weights[0], 1.0 / 35, 1e-12);
  EXPECT_NEAR(weights[9], 1, 1e-12);
  EXPECT_EQ(weights[34], 1);
  EXPECT_TRUE(std::ranges::is_sorted(weights.begin(), weights.begin() + 10));
}

TEST(Tpe, FindsBetterValuesThanChance) {
  EXPECT_LT(tests::median_least(tests::kBranin, "tpe", 21, 60),
            0.75 * tests::median_least(tests::kBranin, "random", 21, 60))
      << "the least there is, is 0.398";
}

TEST(Tpe, DrawsWhatDependsOnAChoiceByItself) {
  SearchOptions options;
  options.space = {{"kind", {{"choice", {{{"name", "a"}}, {{"name", "b"}, {"depth", {{"randint", {0, 20}}}}}}}}}};
  options.metric = "score";
  options.sampler = "tpe";
  options.samples = 80;
  Search search(options);
  int late = 0;
  for (Search::Next next = search.next(); next.trial >= 0; next = search.next()) {
    const Json& kind = search.trials()[static_cast<std::size_t>(next.trial)].config["kind"];
    const int depth = kind.value("depth", -1);
    late += next.trial >= 40 && depth > 10;
    Json result = {{"score", depth}};
    search.report(next.trial, result, 1);
    search.ended(next.trial);
  }
  EXPECT_GT(late, 25) << "of 40; by chance about 9";
}

}  // namespace
}  // namespace ronde::tune
