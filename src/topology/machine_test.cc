#include "ronde/topology/machine.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/topology/affinity.h"

namespace ronde::topology {
namespace {

TEST(Machine, ReadsASyntheticOneDownToItsHardwareThreads) {
  const Machine machine = from_synthetic("pack:2 numa:2(memory=2GB) l3:1 core:4 pu:2");
  ASSERT_EQ(machine.packages.size(), 2u);
  ASSERT_EQ(machine.numa.size(), 4u);
  ASSERT_EQ(machine.cores.size(), 16u);
  EXPECT_EQ(machine.numa[2].package, 1);
  EXPECT_EQ(machine.numa[2].memory_bytes, 2'000'000'000u);
  EXPECT_FALSE(machine.numa[2].memory_only);
  EXPECT_EQ(machine.cores[5].numa, 1);
  EXPECT_EQ(machine.cores[5].package, 0);
  EXPECT_EQ(machine.cores[5].l3, 1);
  EXPECT_EQ(machine.cores[5].cpus, (CpuSet{10, 11}));
  EXPECT_EQ(all_cpus(machine).size(), 32);
  EXPECT_EQ(memory_bytes(machine), 8'000'000'000u);
  EXPECT_EQ(machine.forbidden_cores, 0);
}

TEST(Machine, KnowsWhenADomainSpansPackages) {
  const Machine machine = from_synthetic("pack:2 core:2 pu:1");
  ASSERT_EQ(machine.numa.size(), 1u);
  EXPECT_EQ(machine.numa[0].package, std::nullopt);
  EXPECT_EQ(machine.cores[2].package, 1);
}

TEST(Machine, ReadsDevicesWithTheirDomainsAndOnlyWhatWeMayUse) {
  const Machine machine = from_xml(TOPOLOGY_TESTDATA "/two_packages.xml");
  EXPECT_EQ(machine.hostname, "node7");
  EXPECT_EQ(machine.cpu_model, "Example CPU 9000");
  EXPECT_EQ(machine.cores.size(), 3u);
  EXPECT_EQ(machine.forbidden_cores, 1);
  ASSERT_EQ(machine.gpus.size(), 1u) << "the display chip of the board computes nothing";
  EXPECT_EQ(machine.gpus[0].name, "GH100 [H200]");
  EXPECT_EQ(machine.gpus[0].bus_id, "0000:1b:00.0");
  EXPECT_EQ(machine.gpus[0].numa, 0);
  ASSERT_EQ(machine.networks.size(), 2u);
  EXPECT_EQ(machine.networks[0].name, "eth0");
  EXPECT_EQ(machine.networks[0].kind, NetworkCard::Kind::Ethernet);
  EXPECT_EQ(machine.networks[0].numa, 0);
  EXPECT_EQ(machine.networks[1].name, "ib0");
  EXPECT_EQ(machine.networks[1].rdma, "mlx5_0");
  EXPECT_EQ(machine.networks[1].kind, NetworkCard::Kind::InfiniBand);
  EXPECT_EQ(machine.networks[1].numa, 1);
}

TEST(Machine, RestrictedToAFewCpusDropsWhatIsNotOurs) {
  const Machine machine = restricted(from_synthetic("pack:2 numa:2 core:4 pu:2"), CpuSet::parse("17,20-21,24"));
  ASSERT_EQ(machine.cores.size(), 3u);
  EXPECT_EQ(machine.forbidden_cores, 13);
  EXPECT_EQ(machine.cores[0].index, 8);
  EXPECT_EQ(machine.cores[0].cpus, (CpuSet{17}));
  ASSERT_EQ(machine.packages.size(), 1u);
  EXPECT_EQ(machine.packages[machine.cores[0].package].index, 1);
  ASSERT_EQ(machine.numa.size(), 2u);
  EXPECT_EQ(machine.numa[machine.cores[2].numa].index, 3);
  EXPECT_EQ(machine.numa[0].package, 0);
}

TEST(Machine, RestrictedKeepsADomainThatHoldsADevice) {
  const Machine machine = restricted(from_xml(TOPOLOGY_TESTDATA "/two_packages.xml"), CpuSet{2});
  EXPECT_EQ(machine.cores.size(), 1u);
  EXPECT_EQ(machine.forbidden_cores, 3);
  ASSERT_EQ(machine.numa.size(), 2u);
  EXPECT_EQ(machine.numa[*machine.gpus[0].numa].index, 0);
}

std::vector<std::string> buses(const Machine& machine) {
  std::vector<std::string> found;
  for (const Gpu& gpu : machine.gpus) found.push_back(gpu.bus_id);
  return found;
}

TEST(Machine, GpusThatAreHiddenAreNotThere) {
  using Texts = std::vector<std::string>;
  Machine machine = from_xml(TOPOLOGY_TESTDATA "/four_gpus.xml");
  machine.gpus[1].uuid = "GPU-8932f937-d72c-4106";
  EXPECT_EQ(buses(machine), (Texts{"0000:07:00.0", "0000:0f:00.0", "0000:87:00.0", "0000:8f:00.0"}));
  EXPECT_EQ(buses(with_visible_gpus(machine, "3,1")), (Texts{"0000:8f:00.0", "0000:0f:00.0"})) << "in that order";
  EXPECT_EQ(buses(with_visible_gpus(machine, "GPU-8932, 0")), (Texts{"0000:0f:00.0", "0000:07:00.0"}));
  EXPECT_EQ(buses(with_visible_gpus(machine, "2,-1,0")), Texts{"0000:87:00.0"}) << "what follows -1 is hidden";
  EXPECT_EQ(buses(with_visible_gpus(machine, "")), Texts{});
  EXPECT_EQ(buses(with_visible_gpus(machine, "7")), Texts{});
  const Machine slice = with_visible_gpus(machine, "MIG-4b19");
  ASSERT_EQ(slice.gpus.size(), 1u) << "it is there, even if we cannot say where";
  EXPECT_EQ(slice.gpus[0].numa, std::nullopt);
}

TEST(Machine, RefusesWhatIsNoMachine) {
  EXPECT_THROW(from_synthetic("two sockets, please"), Error);
  try {
    from_xml("/no/such/file.xml");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::BadInput);
    EXPECT_NE(error.message().find("/no/such/file.xml"), std::string::npos);
  }
}

TEST(Machine, ThisOneHasCoresMemoryAndAName) {
  const Machine machine = discover();
  EXPECT_FALSE(machine.hostname.empty());
  EXPECT_GT(memory_bytes(machine), 0u);
  EXPECT_FALSE(machine.packages.empty());
  EXPECT_EQ(all_cpus(machine), affinity_of_this_thread());
}

TEST(Machine, RespectsTheAffinityOfWhoAsks) {
  const CpuSet before = affinity_of_this_thread();
  bind_this_thread({before.front()});
  const Machine machine = discover();
  bind_this_thread(before);
  EXPECT_EQ(machine.cores.size(), 1u);
  EXPECT_EQ(all_cpus(machine), CpuSet{before.front()});
}

}  // namespace
}  // namespace ronde::topology
