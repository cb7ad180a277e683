#include "ronde/comm/detail/plan.h"

#include <gtest/gtest.h>

namespace ronde::comm::detail {
namespace {

constexpr FusionLimits kLimits{.bytes = 100, .first_bytes = 100};

PlanItem item(RequestId id, std::uint64_t signature = 9, std::size_t bytes = 60) {
  return {.id = id, .signature = signature, .fusion = {.bytes = bytes, .kind = 1}};
}

std::vector<std::vector<RequestId>> ids_of(const Plan& plan) {
  std::vector<std::vector<RequestId>> ids;
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
  Planner planner(kLimits);
  EXPECT_FALSE(feed(planner, {item(1), item(2), item(3)}));
  EXPECT_FALSE(feed(planner, {item(3), item(1)}));
  const auto plan = feed(planner, {item(2)});
  ASSERT_TRUE(plan);
  EXPECT_EQ(ids_of(*plan), (std::vector<std::vector<RequestId>>{{3}, {1}, {2}}));
}

TEST(Planner, OneRequestAgainAndAgainIsACycleToo) {
  Planner planner(kLimits);
  EXPECT_FALSE(feed(planner, {item(5)}));
  EXPECT_TRUE(feed(planner, {item(5)}));
}

TEST(Planner, AnotherShapeOrAnotherSetIsNoRepetition) {
  Planner planner(kLimits);
  feed(planner, {item(1), item(2)});
  EXPECT_FALSE(feed(planner, {item(1), item(2, 10)})) << "another signature";
  EXPECT_FALSE(feed(planner, {item(1), item(3)})) << "another request";
  EXPECT_FALSE(feed(planner, {item(1)}));
  EXPECT_TRUE(feed(planner, {item(3)}));
}

TEST(Planner, ForgetsOnDemandAndCountsItsPlans) {
  Planner planner(kLimits);
  feed(planner, {item(1)});
  const auto first = feed(planner, {item(1)});
  planner.forget();
  EXPECT_FALSE(feed(planner, {item(1)}));
  const auto second = feed(planner, {item(1)});
  ASSERT_TRUE(first && second);
  EXPECT_NE(first->epoch, second->epoch);
}

Plan three_buckets() {
  return {.epoch = 1, .buckets = {{item(1), item(2)}, {item(3)}, {item(4)}}};
}

TEST(PlanRun, VotesYesWhenABucketIsComplete) {
  const Plan plan = three_buckets();
  PlanRun run(plan);
  EXPECT_EQ(run.vote(), std::nullopt);
  EXPECT_TRUE(run.submit(3, 9)) << "a later bucket may be complete first";
  EXPECT_EQ(run.vote(), std::nullopt) << "but waits its turn";
  EXPECT_TRUE(run.submit(2, 9));
  EXPECT_TRUE(run.submit(1, 9));
  EXPECT_EQ(run.vote(), true);
  run.next();
  EXPECT_EQ(run.vote(), true);
  run.next();
  EXPECT_EQ(run.vote(), std::nullopt);
}

TEST(PlanRun, WaitingClosesWhatStandsBefore) {
  const Plan plan = three_buckets();
  PlanRun run(plan);
  run.submit(3, 9);
  run.wait_for(3);
  EXPECT_EQ(run.vote(), false) << "bucket 0 is incomplete, and the program waits for one behind it";
}

TEST(PlanRun, WaitingForSomethingOutsideThePlanClosesEveryIncompleteBucket) {
  const Plan plan = three_buckets();
  PlanRun run(plan);
  run.submit(1, 9);
  run.wait_for_stranger();
  EXPECT_EQ(run.vote(), false);
  run.submit(2, 9);
  EXPECT_EQ(run.vote(), true) << "complete is complete";
  run.next();
  EXPECT_EQ(run.vote(), false) << "the program still waits, so the next bucket may never be complete";
}

TEST(PlanRun, RefusesWhatThePlanDoesNotExpect) {
  const Plan plan = three_buckets();
  PlanRun run(plan);
  EXPECT_FALSE(run.submit(99, 9));
  EXPECT_FALSE(run.submit(1, 10)) << "another shape";
  EXPECT_TRUE(run.submit(1, 9));
  EXPECT_FALSE(run.submit(1, 9)) << "twice in a step";
}

TEST(PlanRun, StepsFollowOneAnother) {
  const Plan plan = three_buckets();
  PlanRun run(plan);
  for (int step = 0; step < 3; ++step) {
    for (const RequestId id : {1u, 2u, 3u, 4u}) EXPECT_TRUE(run.submit(id, 9));
    run.wait_for(4);
    for (std::size_t bucket = 0; bucket < 3; ++bucket) {
      EXPECT_EQ(run.bucket(), bucket);
      EXPECT_EQ(run.vote(), true);
      run.next();
    }
    EXPECT_EQ(run.vote(), std::nullopt) << "the wait was for the step before";
  }
}

}  // namespace
}  // namespace ronde::comm::detail
