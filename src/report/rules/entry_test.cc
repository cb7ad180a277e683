#include "ronde/report/rules/entry.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/report/compute/layer_roofline.h"
#include "ronde/report/testing/made_training.h"

namespace ronde::report::rules {
namespace {

// Whatever is added to the registry is held to these.
TEST(RuleEntries, AreWhole) {
  std::set<std::string_view> names;
  for (const RuleEntry& rule : rule_entries()) {
    EXPECT_TRUE(names.insert(rule.name).second) << rule.name << " is there twice";
    EXPECT_EQ(rule.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), std::string_view::npos) << rule.name;
    EXPECT_NE(rule.find == nullptr, rule.find_after == nullptr) << rule.name;
    EXPECT_GE(rule.batch_times, 1) << rule.name;
    EXPECT_EQ(find_rule(rule.name).name, rule.name);
  }
  EXPECT_THROW(find_rule("no_such"), Error);
}

TEST(RuleEntries, NameRulesThatThereAre) {
  const std::vector<RuleEntry> all = rule_entries();
  const auto place = [&](std::string_view name) { return std::ranges::find(all, name, &RuleEntry::name); };
  for (auto rule = all.begin(); rule != all.end(); ++rule) {
    for (const std::string_view symptom : rule->explains) {
      EXPECT_NE(place(symptom), all.end()) << rule->name << " explains " << symptom;
      EXPECT_NE(place(symptom), rule) << rule->name << " explains itself";
    }
    for (const std::string_view other : rule->replaces) {
      ASSERT_NE(place(other), all.end()) << rule->name << " replaces " << other;
      EXPECT_GT(place(other), rule) << other << " is tried before " << rule->name << ", which replaces it";
      EXPECT_EQ(place(other)->group, rule->group) << rule->name << " and " << other << " are about different losses";
    }
  }
}

// Two rules that explain each other would leave no advice at all.
TEST(RuleEntries, DoNotExplainEachOther) {
  for (const RuleEntry& cause : rule_entries())
    for (const std::string_view symptom : cause.explains) {
      const RuleEntry other = find_rule(symptom);
      EXPECT_EQ(std::ranges::count(other.explains, cause.name), 0) << cause.name << " and " << symptom;
    }
}

// A run of no length has nothing to lose, and no rule may divide by it.
TEST(RuleEntries, HaveNothingToSayAboutNothing) {
  testing::MadeEvidence all(testing::made(2, 10, {.work = {80, 120}, .input = 10, .move = 20}));
  all.efficiency = {.computation = Factor{.key = "computation", .value = 0.1}};
  all.facts.precision = "f32";
  all.facts.batch = 64;
  all.rates = MachineRates{.name = "made", .f32 = 1, .bf16 = 4};
  all.roofline = LayerRoofline{};
  for (const RuleEntry& rule : rule_entries()) {
    const auto advice = rule.find ? rule.find(all.evidence()) : rule.find_after(all.evidence(), {});
    EXPECT_LT(advice ? advice->gain : 0, kLeastGain) << rule.name;
  }
}

}  // namespace
}  // namespace ronde::report::rules
