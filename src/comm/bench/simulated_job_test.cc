#include "ronde/comm/bench/simulated_job.h"

#include <algorithm>
#include <bit>
#include <string_view>

#include <gtest/gtest.h>

namespace ronde::comm {
namespace {

const SimulatedCost& cost_of(const SimulatedFacts& facts, std::string_view what) {
  const auto found = std::ranges::find(facts.costs, what, &SimulatedCost::what);
  EXPECT_NE(found, facts.costs.end()) << what;
  return *found;
}

// Of 1024 ranks; `ronde bench control --simulate 10000` shows the rest.
TEST(SimulatedJob, ALargeJobSendsFewMessages) {
  const SimulatedFacts facts = simulate_job({.ranks = 1024, .per_node = 8, .tensors = 5});
  EXPECT_TRUE(facts.sums_are_right);
  constexpr std::uint64_t kLog2 = 10, kLog2Nodes = 7;
  const SimulatedCost& bucket = cost_of(facts, "a bucket of a plan");
  EXPECT_EQ(bucket.network_messages, kLog2Nodes);
  EXPECT_LE(bucket.messages, kLog2);
  EXPECT_LE(bucket.connections, 2 * kLog2Nodes + 8);
  for (const char* what : {"one rank deviates", "all ranks deviate", "new names"})
    EXPECT_LE(cost_of(facts, what).messages, 64u) << what;
  EXPECT_LE(cost_of(facts, "one rank means another shape").bytes, 64u << 10) << "what is equal is told once";
  for (const char* what : {"a rank leaves: others", "a node's first rank leaves: others", "a rank dies: others",
                           "a node dies: others, per rank"})
    EXPECT_LE(cost_of(facts, what).messages, 16u) << what;
  EXPECT_LE(cost_of(facts, "a rank leaves: itself").messages, 2 * kLog2Nodes + 7) << "all that it is connected with";
  EXPECT_LE(facts.start_rounds, 40u);
  EXPECT_LE(facts.bytes_per_peer, 256.0);
}

TEST(SimulatedJob, ACountDoesNotGrowWithTheTensors) {
  const SimulatedFacts few = simulate_job({.ranks = 48, .per_node = 2, .tensors = 2}),
                       many = simulate_job({.ranks = 48, .per_node = 2, .tensors = 50});
  EXPECT_EQ(cost_of(few, "a bucket of a plan").messages, cost_of(many, "a bucket of a plan").messages);
  EXPECT_TRUE(few.sums_are_right);
  EXPECT_TRUE(many.sums_are_right);
}

TEST(SimulatedJob, NodesMayDifferInSize) {
  EXPECT_TRUE(simulate_job({.ranks = 43, .per_node = 2, .tensors = 2}).sums_are_right);
  EXPECT_TRUE(simulate_job({.ranks = 3, .per_node = 8, .tensors = 2}).sums_are_right) << "one node";
}

}  // namespace
}  // namespace ronde::comm
