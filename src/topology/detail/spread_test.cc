#include "ronde/topology/detail/spread.h"

#include <set>

#include <gtest/gtest.h>

namespace ronde::topology::detail {
namespace {

using Counts = std::vector<int>;

TEST(Spread, ApportionsByWeight) {
  EXPECT_EQ(apportion({4, 4}, 3), (Counts{2, 1}));
  EXPECT_EQ(apportion({6, 2}, 4), (Counts{3, 1}));
  EXPECT_EQ(apportion({6, 1}, 2), (Counts{2, 0})) << "three each rather than six and one";
  EXPECT_EQ(apportion({2, 1}, 2), (Counts{1, 1})) << "one each either way: spread out";
  EXPECT_EQ(apportion({1, 1, 1}, 7), (Counts{3, 2, 2}));
  EXPECT_EQ(apportion({5}, 0), (Counts{0}));
}

TEST(Spread, UnitsAreCoresUntilRanksOutnumberThem) {
  const Machine machine = from_synthetic("core:2 pu:2");
  const auto idle = make_units(machine, 2, false);
  ASSERT_EQ(idle.size(), 2u);
  EXPECT_EQ(idle[1].cpus, CpuSet{2});
  EXPECT_EQ(idle[1].spare, CpuSet{3});
  const auto busy = make_units(machine, 2, true);
  EXPECT_EQ(busy[1].cpus, (CpuSet{2, 3}));
  EXPECT_TRUE(busy[1].spare.empty());
  EXPECT_EQ(make_units(machine, 3, true).size(), 4u);
  EXPECT_EQ(make_units(machine, 3, false).size(), 2u);
}

// On every shape of machine and for every number of ranks: nobody is left out, no core has two owners unless it must,
// and nobody crosses a border between domains who owns less than a domain.
TEST(Spread, NoRankCrossesADomainWhenItFitsAndNoCoreHasTwoOwners) {
  for (const char* shape : {"pack:1 numa:1 core:1 pu:1", "pack:2 numa:1 core:4 pu:1", "pack:2 numa:2 core:3 pu:2",
                            "pack:1 numa:4 core:5 pu:1", "pack:3 numa:2 core:2 pu:1"}) {
    const Machine machine = from_synthetic(shape);
    const int cores = static_cast<int>(machine.cores.size());
    const int per_domain = cores / static_cast<int>(machine.numa.size());
    for (int ranks = 1; ranks <= cores + 3; ++ranks) {
      SCOPED_TRACE(testing::Message() << shape << ", ranks " << ranks);
      const auto units = make_units(machine, ranks, false);
      const auto shares = spread_over_cores(machine, units, ranks);
      ASSERT_EQ(static_cast<int>(shares.size()), ranks);
      std::multiset<int> owned;
      for (const Share& share : shares) {
        ASSERT_FALSE(share.units.empty());
        owned.insert(share.units.begin(), share.units.end());
        std::set<int> domains;
        for (const int unit : share.units) domains.insert(machine.cores[units[unit].core].numa);
        if (static_cast<int>(share.units.size()) <= per_domain) {
          EXPECT_EQ(domains.size(), 1u);
        }
        if (ranks <= cores) {
          EXPECT_EQ(share.sharers, 1);
        }
      }
      const std::set<int> distinct(owned.begin(), owned.end());
      if (ranks <= cores) {
        EXPECT_EQ(distinct.size(), owned.size());
      } else {
        EXPECT_EQ(static_cast<int>(distinct.size()), cores);
      }
    }
  }
}

TEST(Spread, FewRanksOnManyDomainsAreSpreadOverPackages) {
  const Machine machine = from_synthetic("pack:2 numa:4 core:1 pu:1");
  const auto shares = spread_over_domains(machine, make_units(machine, 2, false), 2);
  EXPECT_EQ(shares[0].units, (Counts{0}));
  EXPECT_EQ(shares[1].units, (Counts{4}));
}

TEST(Spread, DomainsWithoutAGpuServeTheirNeighbour) {
  Machine machine = from_synthetic("pack:2 numa:2 core:2 pu:1");
  machine.gpus = {{"gpu", "bus", 1}, {"gpu", "bus", 2}};
  const auto shares = spread_over_gpus(machine, make_units(machine, 2, false), 2);
  ASSERT_TRUE(shares);
  EXPECT_EQ((*shares)[0].units, (Counts{2, 3, 0, 1})) << "the GPU's own domain comes first";
  EXPECT_EQ((*shares)[1].units, (Counts{4, 5, 6, 7}));
  machine.gpus[1].numa = std::nullopt;
  EXPECT_FALSE(spread_over_gpus(machine, make_units(machine, 2, false), 2));
}

}  // namespace
}  // namespace ronde::topology::detail
