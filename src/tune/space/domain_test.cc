#include "ronde/tune/space/domain.h"

#include <cmath>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "ronde/base/error.h"

namespace ronde::tune {
namespace {

Domain domain(const char* function, const Json& arguments) {
  return domain_of(function, arguments, "x");
}

std::map<double, int> counts(const Domain& domain, int draws) {
  std::map<double, int> counts;
  Random random(7);
  for (int i = 0; i < draws; ++i) ++counts[draw(domain, random).get<double>()];
  return counts;
}

TEST(Domain, NumbersStayInTheirRange) {
  Random random(1);
  const Domain uniform = domain("uniform", {-2, 3}), log = domain("loguniform", {1e-4, 1e-1});
  double log_sum = 0;
  for (int i = 0; i < 10'000; ++i) {
    const auto value = draw(uniform, random).get<double>(), other = draw(log, random).get<double>();
    ASSERT_TRUE(value >= -2 && value < 3);
    ASSERT_TRUE(other >= 1e-4 && other < 1e-1);
    log_sum += std::log10(other);
  }
  EXPECT_NEAR(log_sum / 10'000, -2.5, 0.03) << "even in the logarithm";
}

TEST(Domain, IntegersLeaveOutTheUpperEndUnlessTheyAreQuantised) {
  const auto plain = counts(domain("randint", {2, 5}), 3'000);
  EXPECT_EQ(plain.begin()->first, 2);
  EXPECT_EQ(plain.rbegin()->first, 4);
  // q times an even integer in [ceil(l/q), floor(u/q)]: both ends as often as those between.
  const auto quantised = counts(domain("qrandint", {1, 9, 3}), 9'000);
  ASSERT_EQ(quantised.size(), 3u);
  for (const auto& [value, count] : quantised) EXPECT_NEAR(count, 3'000, 200) << value;
  EXPECT_EQ(quantised.begin()->first, 3);
  const auto by_one = counts(domain("qrandint", {1, 3, 1}), 3'000);
  EXPECT_EQ(by_one.size(), 3u) << "q = 1 includes the upper end, too";
  const auto log = counts(domain("lograndint", {1, 1000}), 3'000);
  EXPECT_GE(log.begin()->first, 1);
  EXPECT_LE(log.rbegin()->first, 999);
}

TEST(Domain, RoundsToMultiplesCountedFromZero) {
  const auto values = counts(domain("quniform", {-1, 1, 0.5}), 8'000);
  ASSERT_EQ(values.size(), 5u);
  EXPECT_NEAR(values.at(-1), 1'000, 150) << "the ends have half the weight";
  EXPECT_NEAR(values.at(0.5), 2'000, 150);
  for (const auto& [value, count] : counts(domain("qrandn", {0, 10, 2}), 100))
    EXPECT_EQ(std::fmod(value, 2), 0) << value;
}

TEST(Domain, ChoicesKeepTheirTypes) {
  const Domain choice = domain("choice", {32, "adam", nullptr, {{"a", 1}}});
  Random random(3);
  std::map<std::string, int> seen;
  for (int i = 0; i < 400; ++i) ++seen[draw(choice, random).dump()];
  EXPECT_EQ(seen.size(), 4u);
  EXPECT_TRUE(seen.contains("32") && seen.contains("\"adam\"") && seen.contains("null") && seen.contains("{\"a\":1}"));
}

TEST(Domain, UnitsComeBackAsTheValuesThatTheyStandFor) {
  Random random(5);
  for (const Domain& each : {domain("uniform", {-2, 3}), domain("loguniform", {1e-5, 10}), domain("randint", {0, 7}),
                             domain("quniform", {0, 1, 0.25}), domain("lograndint", {1, 500}),
                             domain("qlograndint", {8, 1024, 8}), domain("choice", {1, 2, "x"})})
    for (int i = 0; i < 200; ++i) {
      const Json value = draw(each, random), again = from_unit(each, to_unit(each, value));
      if (value.is_number())
        ASSERT_NEAR(again.get<double>(), value.get<double>(), 1e-9 * std::abs(value.get<double>()) + 1e-12);
      else
        ASSERT_EQ(again, value);
    }
  // Values of a step have cells of equal width.
  const Domain steps = domain("randint", {0, 4});
  EXPECT_EQ(from_unit(steps, 0.0), 0);
  EXPECT_EQ(from_unit(steps, 0.249), 0);
  EXPECT_EQ(from_unit(steps, 0.251), 1);
  EXPECT_EQ(from_unit(steps, 1.0), 3);
}

TEST(Domain, RefusesWhatCannotBeAndNamesIt) {
  const auto refusal = [](const char* function, const Json& arguments) -> std::string {
    try {
      domain_of(function, arguments, "model/lr");
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::BadInput);
      return error.message();
    }
    return "";
  };
  EXPECT_EQ(refusal("uniform", {1, 1}), "model/lr: uniform[1,1]: the upper end must be above the lower one");
  EXPECT_EQ(refusal("loguniform", {0, 1}), "model/lr: loguniform[0,1]: the lower end must be above 0");
  EXPECT_EQ(refusal("quniform", {0, 1, 0.3}), "model/lr: quniform[0,1,0.3]: both ends must be multiples of the step");
  EXPECT_NE(refusal("choice", Json::array()), "");
  EXPECT_NE(refusal("randint", {3, 3}), "");
  EXPECT_NE(refusal("uniform", {"a", 1}), "");
  EXPECT_NE(refusal("uniform", 3), "");
  EXPECT_NE(refusal("gaussian", {0, 1}), "");
}

TEST(Domain, CountsItsValues) {
  EXPECT_EQ(cardinality(domain("choice", {1, 2})), 2u);
  EXPECT_EQ(cardinality(domain("randint", {0, 10})), 10u);
  EXPECT_EQ(cardinality(domain("quniform", {0, 1, 0.25})), 5u);
  EXPECT_EQ(cardinality(domain("uniform", {0, 1})), 0u);
}

}  // namespace
}  // namespace ronde::tune
