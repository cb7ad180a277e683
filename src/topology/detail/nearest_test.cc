#include "ronde/topology/detail/nearest.h"

#include <gtest/gtest.h>

namespace ronde::topology::detail {
namespace {

using Chosen = std::vector<std::optional<int>>;

Machine two_by_two() {
  return from_synthetic("pack:2 numa:2 core:2 pu:1");
}

NetworkCard card(const char* name, NetworkCard::Kind kind, std::optional<int> numa, double speed, bool up = true) {
  return {.name = name, .rdma = {}, .kind = kind, .bus_id = {}, .numa = numa, .gbit_per_s = speed, .up = up};
}

TEST(Nearest, WithoutCardsThereIsNone) {
  EXPECT_EQ(nearest_networks(two_by_two(), {{0}}), (Chosen{{}}));
}

TEST(Nearest, TheFabricBeatsANearerEthernetCard) {
  Machine machine = two_by_two();
  machine.networks = {card("eth0", NetworkCard::Kind::Ethernet, 0, 100),
                      card("ib0", NetworkCard::Kind::InfiniBand, 3, 200)};
  EXPECT_EQ(nearest_networks(machine, {{0}, {3}}), (Chosen{1, 1}));
}

TEST(Nearest, OnlyTheFastestCardsThatAreUpCount) {
  Machine machine = two_by_two();
  machine.networks = {
      card("eth0", NetworkCard::Kind::Ethernet, 0, 1), card("eth1", NetworkCard::Kind::Ethernet, 0, 400, false),
      card("eth2", NetworkCard::Kind::Ethernet, 3, 25), card("eth3", NetworkCard::Kind::Ethernet, 1, 25)};
  EXPECT_EQ(nearest_networks(machine, {{0}, {1}, {2}, {3}}), (Chosen{3, 3, 2, 2}));
}

TEST(Nearest, EquallyNearCardsAreSharedOut) {
  Machine machine = two_by_two();
  machine.networks = {card("ib0", NetworkCard::Kind::InfiniBand, 0, 200),
                      card("ib1", NetworkCard::Kind::InfiniBand, 0, 200)};
  EXPECT_EQ(nearest_networks(machine, {{0}, {0}, {0}, {2}}), (Chosen{0, 1, 0, 1}));
}

}  // namespace
}  // namespace ronde::topology::detail
