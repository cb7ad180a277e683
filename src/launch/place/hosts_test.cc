#include "ronde/launch/place/hosts.h"

#include <functional>

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/launch/process/test_complaint.h"

namespace ronde::launch {
namespace {

using Hosts = std::vector<Host>;

Host host(std::string name, int slots) {
  return {.name = std::move(name), .slots = slots, .most = slots};
}

TEST(Hosts, AreReadFromAFlag) {
  EXPECT_EQ(parse_hosts("node1:2,node2:4", "-H"), (Hosts{host("node1", 2), host("node2", 4)}));
  EXPECT_EQ(parse_hosts("a, b.example.org ,10.0.0.3:8", "-H"),
            (Hosts{host("a", 1), host("b.example.org", 1), host("10.0.0.3", 8)}));
  EXPECT_EQ(parse_hosts("a:2,b,a", "-H"), (Hosts{host("a", 3), host("b", 1)}));
}

TEST(Hosts, WrongFlagsAreNamed) {
  for (const auto* text : {"", "a,,b", "a:0", "a:-1", "a:x", "a:2:3", ":2", "a b", "-x:2", "a;rm:2", "a:99999999"})
    EXPECT_NE(complaint([&] { parse_hosts(text, "-H"); }).find(std::string("-H ") + text), std::string::npos) << text;
}

TEST(Hosts, AreReadFromTheFilesOfAllLaunchers) {
  const Hosts both{host("n1", 2), host("n2", 2)};
  EXPECT_EQ(parse_hostfile("n1 slots=2\nn2 slots=2 max_slots=8\n", "f"), both) << "Open MPI, horovodrun";
  EXPECT_EQ(parse_hostfile("# of MPICH\nn1:2\n\n  n2:2  # the other\n", "f"), both);
  EXPECT_EQ(parse_hostfile("n1\nn1\nn2\nn2", "f"), both) << "PBS";
  EXPECT_EQ(parse_hostfile("n1\r\nn2\r\n", "f"), (Hosts{host("n1", 1), host("n2", 1)})) << "written on Windows";
}

TEST(Hosts, WrongFilesAreNamedWithTheirLine) {
  EXPECT_EQ(complaint([] { parse_hostfile("n1\nn2 slotz=2\n", "my hosts"); }),
            "my hosts:2: unknown word 'slotz=2'; write name, name:slots or name slots=N");
  EXPECT_EQ(complaint([] { parse_hostfile("n1 slots=two\n", "f"); }),
            "f:1: slots=two is not a whole number from 1 to 65536");
  EXPECT_EQ(complaint([] { parse_hostfile("\n\nn/1\n", "f"); }), "f:3: 'n/1' is not a host; write name or name:slots");
  EXPECT_EQ(complaint([] { parse_hostfile("# nothing\n", "f"); }), "f: the file lists no hosts");
}

TEST(PlaceRanks, FillsInOrder) {
  const Hosts hosts{host("a", 2), host("b", 3), host("c", 1)};
  EXPECT_EQ(layout_of(place_ranks(hosts, {})), (std::vector{2, 3, 1}));
  const Placement four = place_ranks(hosts, {.ranks = 4});
  EXPECT_EQ(four.hosts, (std::vector<HostShare>{{"a", 2}, {"b", 2}}));
  EXPECT_EQ(four.ranks, 4);
  EXPECT_FALSE(four.oversubscribed);
  EXPECT_EQ(layout_of(place_ranks(hosts, {.ranks = 1})), (std::vector{1}));
}

TEST(PlaceRanks, SlotsOfEachHostCanBeGiven) {
  const Hosts hosts{host("a", 8), host("b", 8)};
  EXPECT_EQ(layout_of(place_ranks(hosts, {.per_host = 2})), (std::vector{2, 2}));
  EXPECT_EQ(layout_of(place_ranks(hosts, {.ranks = 3, .per_host = 2})), (std::vector{2, 1}));
}

TEST(PlaceRanks, TooManyRanksAreRefusedOrSpread) {
  const Hosts hosts{host("a", 1), host("b", 2)};
  EXPECT_EQ(complaint([&] { place_ranks(hosts, {.ranks = 4}); }),
            "4 ranks are more than the 3 slots of 2 hosts: list more hosts or slots, or add --oversubscribe to let "
            "ranks take turns");
  EXPECT_NE(complaint([&] { place_ranks({host("a", 1)}, {.ranks = 2}); }).find("the 1 slot of a:"), std::string::npos);
  const Placement shared = place_ranks(hosts, {.ranks = 5, .oversubscribe = true});
  EXPECT_EQ(layout_of(shared), (std::vector{3, 2}));
  EXPECT_TRUE(shared.oversubscribed);
  EXPECT_EQ(shared.warnings, (std::vector<std::string>{"5 ranks share 3 slots: they take turns"}));
}

// salloc --nodes 2 --exclusive: one task a node, and all its processors.
TEST(PlaceRanks, ProcessorsThatNoTaskWasAskedForAreUsed) {
  const Hosts hosts{{.name = "a", .slots = 1, .most = 8}, {.name = "b", .slots = 1, .most = 8}};
  EXPECT_EQ(layout_of(place_ranks(hosts, {.ranks = 2})), (std::vector{1, 1}));
  const Placement eight = place_ranks(hosts, {.ranks = 9});
  EXPECT_EQ(layout_of(eight), (std::vector{5, 4}));
  EXPECT_FALSE(eight.oversubscribed);
  EXPECT_NE(complaint([&] { place_ranks(hosts, {.ranks = 17}); }), "no error");
}

TEST(ThisHost, IsKnownByShortAndLongName) {
  EXPECT_TRUE(is_this_host("localhost", "b2"));
  EXPECT_TRUE(is_this_host("b2", "b2"));
  EXPECT_TRUE(is_this_host("b2.cluster", "b2"));
  EXPECT_TRUE(is_this_host("b2", "b2.cluster"));
  EXPECT_FALSE(is_this_host("b2.north", "b2.south"));
  EXPECT_FALSE(is_this_host("b20", "b2"));
  EXPECT_FALSE(is_this_host("10.0.0.1", "10"));
}

TEST(Layout, IsWrittenAndReadAsSlurmDoes) {
  for (const auto& [counts, text] : std::vector<std::pair<std::vector<int>, std::string>>{
           {{4}, "4"}, {{2, 2, 2}, "2(x3)"}, {{4, 4, 1}, "4(x2),1"}, {{1, 2, 1, 1}, "1,2,1(x2)"}}) {
    EXPECT_EQ(format_layout(counts), text);
    EXPECT_EQ(parse_layout(text, "x"), counts);
  }
  for (const auto* text : {"", "0", "2(x", "2(x)", "2(3)", "a", "2(x3", "1,,2"})
    EXPECT_THROW(parse_layout(text, "SLURM_TASKS_PER_NODE"), Error) << text;
}

}  // namespace
}  // namespace ronde::launch
