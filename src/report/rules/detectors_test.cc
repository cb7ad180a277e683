#include <algorithm>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "ronde/base/testing/folder.h"
#include "ronde/base/text/format.h"
#include "ronde/report/analysis.h"
#include "ronde/report/json/report_json.h"
#include "ronde/report/testing/generate.h"

// Whole reports on generated traces of runs that are disturbed, as real ones are. What is wrong with a run must be
// found whatever the noise: with every seed.
namespace ronde::report {
namespace {

using Json = nlohmann::ordered_json;
using testing::Faults;

constexpr int kSeeds = 20, kSteps = 40;

// Share by which computing varies: on a quiet machine, and on one that is busy with other things too.
constexpr double kQuiet = 0.05, kBusy = 0.1;

Faults disturbed(Faults faults, std::uint64_t seed) {
  faults.seed = seed;
  faults.preempted = 0.02;
  return faults;
}

void check_products(const Json& factor) {
  if (factor["children"].empty()) return;
  double product = 1;
  for (const Json& child : factor["children"]) {
    product *= child["value"].get<double>();
    check_products(child);
  }
  EXPECT_NEAR(product, factor["value"].get<double>(), 1e-6) << factor["key"];
}

// The factors that have none below them: where time is lost.
void add_leaves(const Json& factor, std::map<std::string, double>& leaves) {
  if (factor["children"].empty()) leaves[factor["key"]] = factor["value"];
  for (const Json& child : factor["children"]) add_leaves(child, leaves);
}

std::string most_lost(const Json& document) {
  std::map<std::string, double> leaves;
  add_leaves(document["efficiency"]["tree"], leaves);
  return std::ranges::min_element(leaves, {}, [](const auto& leaf) { return leaf.second; })->first;
}

// The advice of a rule; null where there is none.
Json advice_of(const Json& document, const std::string& rule) {
  for (const Json& advice : document["advice"])
    if (advice["rule"] == rule) return advice;
  return {};
}

bool says(const Json& text, const std::string& words) {
  return text.is_string() && text.get<std::string>().find(words) != std::string::npos;
}

// Reports on two and four ranks with each seed.
template <class Check>
void on_every_seed(const Faults& faults, Check check) {
  for (const int ranks : {2, 4})
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
      SCOPED_TRACE(fmt::format("{} ranks, seed {}", ranks, seed));
      const tests::Folder folder;
      testing::generate({.folder = folder.path(),
                         .ranks = ranks,
                         .steps = kSteps,
                         .shape = {.layers = 2},
                         .faults = disturbed(faults, seed)});
      const Json document = to_json(*analyse({folder.path()}, {}));
      check_products(document["efficiency"]["tree"]);
      check(document);
    }
}

TEST(Detectors, BlameNothingInAHealthyRun) {
  on_every_seed({.jitter = kQuiet}, [](const Json& document) {
    EXPECT_EQ(document["steps"]["slow"]["rank"], -1) << document["steps"]["slow"];
    for (const char* rule : {"slow_rank", "slow_node", "clock", "input", "communication", "late_bucket", "evaluation"})
      EXPECT_TRUE(advice_of(document, rule).is_null()) << document["advice"];
    EXPECT_TRUE(document["sequential"]["parts"].empty()) << document["sequential"];
  });
}

TEST(Detectors, NameASlowRank) {
  on_every_seed({.slow_rank = 1, .jitter = kBusy}, [](const Json& document) {
    EXPECT_EQ(most_lost(document), "load_balance") << document["efficiency"]["tree"];
    EXPECT_EQ(document["steps"]["slow"]["rank"], 1);
    EXPECT_TRUE(document["steps"]["slow"]["always"]);
    ASSERT_FALSE(document["advice"].empty());
    const Json& first = document["advice"][0];
    EXPECT_EQ(first["rule"], "slow_rank") << document["advice"];
    EXPECT_TRUE(says(first["evidence"], "rank 1")) << first["evidence"];
    EXPECT_TRUE(says(document["verdict"], "rank 1")) << document["verdict"];
  });
}

TEST(Detectors, NameTheStageOfASlowInput) {
  on_every_seed({.input = 30'000'000, .jitter = kBusy}, [](const Json& document) {
    EXPECT_EQ(most_lost(document), "input") << document["efficiency"]["tree"];
    EXPECT_EQ(document["input"]["limit"], "decode");
    ASSERT_FALSE(document["advice"].empty());
    const Json& first = document["advice"][0];
    EXPECT_EQ(first["rule"], "input") << document["advice"];
    EXPECT_TRUE(says(first["evidence"], "'decode'")) << first["evidence"];
  });
}

TEST(Detectors, TakeASlowLinkForTransfer) {
  on_every_seed({.link = 10'000'000, .jitter = kBusy}, [](const Json& document) {
    EXPECT_EQ(most_lost(document), "transfer") << document["efficiency"]["tree"];
    ASSERT_FALSE(document["advice"].empty());
    EXPECT_EQ(document["advice"][0]["rule"], "communication") << document["advice"];
  });
}

TEST(Detectors, FindEvaluationOnOneRank) {
  on_every_seed({.evaluate_every = 10, .jitter = kBusy}, [](const Json& document) {
    const Json& parts = document["sequential"]["parts"];
    EXPECT_TRUE(std::ranges::any_of(parts, [](const Json& part) {
      return part["name"] == "evaluate" && part["rank"] == 0;
    })) << parts;
    EXPECT_TRUE(says(advice_of(document, "evaluation")["evidence"], "rank 0")) << document["advice"];
  });
}

TEST(Detectors, FindALateFirstBucket) {
  on_every_seed({.first_bucket = 0.8, .jitter = kBusy}, [](const Json& document) {
    EXPECT_FALSE(advice_of(document, "late_bucket").is_null()) << document["advice"];
  });
}

}  // namespace
}  // namespace ronde::report
