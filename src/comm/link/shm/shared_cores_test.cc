#include "ronde/comm/link/shm/shared_cores.h"

#include <gtest/gtest.h>

#include "ronde/comm/link/spin_policy.h"

namespace ronde::comm::detail {
namespace {

using topology::CpuQuota;
using topology::CpuSet;

std::vector<RankCores> ranks_with(int ranks, std::vector<CpuQuota> quotas) {
  return std::vector<RankCores>(static_cast<std::size_t>(ranks), {CpuSet::parse("0-7"), std::move(quotas)});
}

TEST(SharedCores, WithoutAQuotaTheCoresThatAnyRankMayRunOn) {
  EXPECT_EQ(shared_cores(ranks_with(4, {})), 8);
  EXPECT_EQ(shared_cores(std::vector<RankCores>{{CpuSet::parse("0-1")}, {CpuSet::parse("1-2")}}), 3);
}

TEST(SharedCores, AQuotaThatRanksShareCountsOnce) {
  EXPECT_EQ(shared_cores(ranks_with(4, {{"job", 2.0}})), 2);
  EXPECT_EQ(shared_cores(ranks_with(4, {{"job", 3.9}})), 3) << "a part of a core is none";
  EXPECT_EQ(shared_cores(ranks_with(4, {{"job", 0.5}})), 1);
  EXPECT_EQ(shared_cores(ranks_with(4, {{"job", 64.0}})), 8);
}

TEST(SharedCores, EveryQuotaOnTheWayUpCounts) {
  EXPECT_EQ(shared_cores(ranks_with(4, {{"step", 6.0}, {"job", 3.0}, {"user", 100.0}})), 3);
}

TEST(SharedCores, AContainerPerRankGrantsEachItsOwn) {
  std::vector<RankCores> ranks = ranks_with(4, {});
  for (int r = 0; r < 4; ++r) ranks[static_cast<std::size_t>(r)].quotas = {{"c" + std::to_string(r), 1.0}};
  EXPECT_GE(shared_cores(ranks), 4) << "nobody waits for a core";
  ranks[2].quotas = ranks[1].quotas;
  EXPECT_EQ(shared_cores(ranks), 3) << "two ranks share one core, the others have one each";
}

TEST(SharedCores, RanksBeyondTheQuotaDoNotSpin) {
  const int few = shared_cores(ranks_with(4, {{"job", 2.0}})), enough = shared_cores(ranks_with(4, {{"job", 4.0}}));
  EXPECT_LT(SpinPolicy::for_ranks(4, few).spins, 100);
  EXPECT_EQ(SpinPolicy::for_ranks(4, enough).spins, SpinPolicy{}.spins);
}

TEST(SpinPolicy, ACallerOutlivesTheWakeUpsOfAllItsPeers) {
  const SpinPolicy two = SpinPolicy::for_ranks(2, 2).in_a_call(2), many = SpinPolicy::for_ranks(16, 16).in_a_call(16);
  EXPECT_GE(two.yielding, std::chrono::microseconds(2 * 50));
  EXPECT_GE(many.yielding, std::chrono::microseconds(16 * 50));
  EXPECT_LE(SpinPolicy::for_ranks(512, 512).in_a_call(512).yielding, std::chrono::milliseconds(2));
  const SpinPolicy shared = SpinPolicy::for_ranks(16, 2).in_a_call(16);
  EXPECT_EQ(shared.spins, SpinPolicy::for_ranks(16, 2).spins) << "who waits for this core waits longer";
  EXPECT_EQ(shared.yields, SpinPolicy::for_ranks(16, 2).yields);
}

TEST(SpinPolicy, YieldingEndsInTime) {
  const SpinPolicy brief{.spins = 1, .yields = 1 << 30, .yielding = std::chrono::microseconds(100)};
  int asked = 0;
  EXPECT_FALSE(brief.wait([&] { return ++asked < 0; }));
  EXPECT_GT(asked, 1);
  EXPECT_TRUE(brief.wait([&] { return true; }));
}

}  // namespace
}  // namespace ronde::comm::detail
