#include "ronde/comm/execute/plan.h"

#include <deque>

#include <gtest/gtest.h>

namespace ronde::comm::detail {
namespace {

using Ids = std::vector<std::vector<RequestId>>;

constexpr FusionLimits kLimits{.bytes = 100, .first_bytes = 100};

PlanItem item(RequestId id, std::uint64_t signature = 9, std::size_t bytes = 60, std::string_view name = {}) {
  return {.id = id, .signature = signature, .fusion = {.bytes = bytes, .kind = 1}, .name = name};
}

PlanItem fenced(PlanItem item) {
  item.fusion.fence = true;
  return item;
}

Ids ids_of(const Plan& plan) {
  Ids ids;
  for (const auto& bucket : plan.buckets) {
    ids.emplace_back();
    for (const PlanItem& entry : bucket) ids.back().push_back(entry.id);
  }
  return ids;
}

std::optional<Plan> feed(Planner& planner, std::vector<PlanItem> items) {
  return planner.observe(items);
}

TEST(Planner, TheSecondSameCycleIsThePlanInItsOwnOrder) {
  Planner planner({.limits = kLimits});
  EXPECT_FALSE(feed(planner, {item(1), item(2), item(3)}));
  EXPECT_FALSE(feed(planner, {item(3), item(1)}));
  const auto plan = feed(planner, {item(2)});
  ASSERT_TRUE(plan);
  EXPECT_EQ(ids_of(*plan), (Ids{{3}, {1}, {2}}));
}

TEST(Planner, OneRequestAgainAndAgainIsACycleToo) {
  Planner planner({.limits = kLimits});
  EXPECT_FALSE(feed(planner, {item(5)}));
  EXPECT_TRUE(feed(planner, {item(5)}));
}

TEST(Planner, AnotherShapeOrAnotherSetIsNoRepetition) {
  Planner planner({.limits = kLimits});
  feed(planner, {item(1), item(2)});
  EXPECT_FALSE(feed(planner, {item(1), item(2, 10)})) << "another signature";
  EXPECT_FALSE(feed(planner, {item(1), item(3)})) << "another request";
  EXPECT_FALSE(feed(planner, {item(1)}));
  EXPECT_TRUE(feed(planner, {item(3)}));
}

TEST(Planner, ForgetsOnDemandAndCountsItsPlans) {
  Planner planner({.limits = kLimits});
  feed(planner, {item(1)});
  const auto first = feed(planner, {item(1)});
  planner.forget();
  EXPECT_FALSE(feed(planner, {item(1)}));
  const auto second = feed(planner, {item(1)});
  ASSERT_TRUE(first && second);
  EXPECT_NE(first->epoch, second->epoch);
  EXPECT_NE(first->epoch, 0u) << "0 is a no";
}

TEST(Planner, WhatFitsIsFusedAndAFenceParts) {
  Planner planner({.limits = kLimits});
  feed(planner, {item(1, 9, 30), item(2, 9, 30), item(3, 9, 30)});
  EXPECT_EQ(ids_of(*feed(planner, {item(1, 9, 30), item(2, 9, 30), item(3, 9, 30)})), (Ids{{1, 2, 3}}));
  EXPECT_EQ(ids_of(*feed(planner, {item(1, 9, 30), item(2, 9, 30), fenced(item(3, 9, 30))})), (Ids{{1, 2}, {3}}));
}

TEST(Planner, InOrderOfTheNamesButNotAcrossFences) {
  Planner planner({.limits = kLimits, .by_name = true});
  const std::vector<PlanItem> cycle = {item(1, 9, 60, "c"), item(2, 9, 60, "a"), fenced(item(3, 9, 60, "d")),
                                       item(4, 9, 60, "b")};
  feed(planner, cycle);
  EXPECT_EQ(ids_of(*feed(planner, cycle)), (Ids{{2}, {1}, {4}, {3}}));
}

TEST(Planner, WhatHasNoNameHasItsPlaceByItsOrder) {
  Planner planner({.limits = kLimits});
  EXPECT_FALSE(feed(planner, {item(1), item(kNoId, 5), item(kNoId, 6)}));
  EXPECT_FALSE(feed(planner, {item(1), item(kNoId, 6), item(kNoId, 5)})) << "another order";
  EXPECT_TRUE(feed(planner, {item(1), item(kNoId, 6), item(kNoId, 5)}));
}

TEST(Planner, WithoutAnyNameThereIsNoPlan) {
  Planner planner({.limits = kLimits});
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(feed(planner, {item(kNoId)}));
}

TEST(Planner, APlanIsVoidWhenMoreOfTheCycleCameAtTheSameTime) {
  Planner planner({.limits = kLimits});
  feed(planner, {item(1)});
  EXPECT_FALSE(feed(planner, {item(1), item(2)})) << "1 again, but then something new";
  EXPECT_TRUE(feed(planner, {item(1), item(2)}));
}

// --- one member's way through a plan

class PlanRuns : public testing::Test {
 protected:
  // With the id that the group agreed on, or without a name.
  Unit& unit(RequestId id, std::uint64_t signature = 9) {
    Unit& made = units_.emplace_back();
    made.signature = signature;
    if (id == kNoId) return made;
    made.key = &slots_.emplace_back();
    made.key->id = id;
    return made;
  }
  bool submit(RequestId id, std::uint64_t signature = 9) { return run_.submit(unit(id, signature)); }
  void wait_for(Unit& unit) {
    unit.waited_for = true;
    run_.wait_for(unit);
  }
  void step_through(const std::vector<RequestId>& ids) {
    for (const RequestId id : ids) EXPECT_TRUE(submit(id));
    for (std::size_t b = 0; b < run_.plan().buckets.size(); ++b) {
      EXPECT_EQ(run_.vote(), true);
      run_.take();
    }
  }

  std::deque<Unit> units_;
  std::deque<NameSlot> slots_;
  PlanRun run_{Plan{.epoch = 1, .buckets = {{item(1), item(2)}, {item(3)}, {item(4)}}}};
};

TEST_F(PlanRuns, VotesYesWhenABucketIsComplete) {
  EXPECT_EQ(run_.vote(), std::nullopt);
  EXPECT_TRUE(submit(3)) << "a later bucket may be complete first";
  EXPECT_EQ(run_.vote(), std::nullopt) << "but waits its turn";
  EXPECT_TRUE(submit(2));
  EXPECT_TRUE(submit(1));
  EXPECT_EQ(run_.vote(), true);
  EXPECT_EQ(run_.take(), (std::vector<Unit*>{&units_[2], &units_[1]})) << "in the plan's order";
  EXPECT_EQ(run_.vote(), true);
  EXPECT_EQ(run_.take(), (std::vector<Unit*>{&units_[0]}));
  EXPECT_EQ(run_.vote(), std::nullopt);
}

TEST_F(PlanRuns, WaitingClosesWhatStandsBefore) {
  Unit& waited = unit(3);
  run_.submit(waited);
  wait_for(waited);
  EXPECT_EQ(run_.vote(), false) << "bucket 0 is incomplete, and the program waits for one behind it";
  submit(1);
  submit(2);
  EXPECT_EQ(run_.vote(), true) << "complete is complete";
  run_.take();
  run_.take();
  EXPECT_EQ(run_.vote(), std::nullopt) << "what stands behind is not closed";
}

TEST_F(PlanRuns, WhatIsWaitedForAlreadyClosesWhenItComesIn) {
  Unit& waited = unit(3);
  waited.waited_for = true;
  run_.submit(waited);
  EXPECT_EQ(run_.vote(), false);
}

TEST_F(PlanRuns, WaitingForSomethingOutsideThePlanClosesEveryIncompleteBucket) {
  submit(1);
  run_.wait_for_unplanned();
  EXPECT_EQ(run_.vote(), false);
  submit(2);
  EXPECT_EQ(run_.vote(), true);
  run_.take();
  EXPECT_EQ(run_.vote(), false) << "the program still waits, so the next bucket may never be complete";
}

TEST_F(PlanRuns, RefusesWhatThePlanDoesNotExpect) {
  EXPECT_FALSE(submit(99));
  EXPECT_FALSE(submit(0)) << "known to the group, but not in the plan";
  EXPECT_FALSE(submit(1, 10)) << "another shape";
  EXPECT_FALSE(submit(kNoId)) << "without a name";
  EXPECT_TRUE(submit(1));
  EXPECT_FALSE(submit(1)) << "twice in a step";
}

TEST_F(PlanRuns, StepsFollowOneAnother) {
  for (int step = 0; step < 3; ++step) step_through({4, 3, 2, 1});
  EXPECT_EQ(run_.vote(), std::nullopt);
}

TEST_F(PlanRuns, AWaitForTheNextStepClosesTheRestOfThisOneFirst) {
  submit(1);
  submit(2);
  run_.take();
  Unit& next = unit(1);
  EXPECT_TRUE(run_.submit(next)) << "its place is free again";
  wait_for(next);
  EXPECT_EQ(run_.vote(), false) << "3 of this step comes before 1 of the next";
  submit(3);
  run_.take();
  EXPECT_EQ(run_.vote(), false) << "and so does 4";
  submit(4);
  run_.take();
  EXPECT_EQ(run_.vote(), false) << "now it is its turn, and 2 is missing";
  submit(2);
  run_.take();
  EXPECT_EQ(run_.vote(), std::nullopt);
}

TEST_F(PlanRuns, TellsWhatIsHereAndWhatIsMissing) {
  EXPECT_TRUE(run_.empty());
  EXPECT_EQ(run_.at_hand(), nullptr);
  submit(4);
  EXPECT_EQ(run_.at_hand(), nullptr) << "nothing of the current bucket";
  submit(2);
  EXPECT_EQ(run_.at_hand(), &units_[1]);
  EXPECT_EQ(run_.missing(), 1u);
  EXPECT_EQ(run_.lacking(), (std::vector<RequestId>{1}));
  EXPECT_EQ(run_.here(), (std::vector<Unit*>{&units_[1], &units_[0]}));
  EXPECT_FALSE(run_.empty());
  submit(1);
  run_.take();
  EXPECT_EQ(run_.here(), (std::vector<Unit*>{&units_[0]}));
}

TEST_F(PlanRuns, WhatHasNoNameTakesThePlacesInOrderHoweverTheyWereFused) {
  PlanItem first = item(kNoId, 5), second = item(kNoId, 5);
  first.order = 0;
  second.order = 2;  // fusion has moved its bucket forward
  run_ = PlanRun(Plan{.epoch = 2, .buckets = {{second}, {first, item(1)}}});
  EXPECT_TRUE(run_.has_unnamed());
  EXPECT_FALSE(submit(kNoId, 6)) << "another shape";
  Unit& waited = unit(kNoId, 5);
  EXPECT_TRUE(run_.submit(waited));
  EXPECT_EQ(run_.vote(), std::nullopt) << "it went to the second bucket";
  wait_for(waited);
  EXPECT_EQ(run_.vote(), false);
  EXPECT_TRUE(submit(kNoId, 5));
  EXPECT_FALSE(submit(kNoId, 5)) << "of the next step, and its place is taken";
  EXPECT_EQ(run_.vote(), true);
  run_.take();
  EXPECT_FALSE(submit(kNoId, 5)) << "the first place of the next step is still taken";
  submit(1);
  run_.take();
  EXPECT_TRUE(submit(kNoId, 5));
}

}  // namespace
}  // namespace ronde::comm::detail
