#include "ronde/topology/draw.h"

#include <gtest/gtest.h>

namespace ronde::topology {
namespace {

Machine example() {
  Machine machine = from_xml(TOPOLOGY_TESTDATA "/two_packages.xml");
  machine.networks[0].gbit_per_s = 10;
  machine.networks[0].up = false;
  machine.networks[1].gbit_per_s = 200;
  machine.limits = {.cpu_quota = 2.5, .memory_bytes = std::uint64_t{16} << 30};
  return machine;
}

TEST(Draw, AMachineWithDevicesAndLimits) {
  EXPECT_EQ(
      draw(example()),
      "node7: Example CPU 9000, 3 cores, 128 GiB\n├─ package 0\n│  └─ NUMA 0: 64 GiB, cores 0-1\n│     ├─ GPU 0: GH100 "
      "[H200], 0000:1b:00.0\n│     └─ network card eth0: Ethernet, 10 Gbit/s, down, 0000:03:00.0\n├─ package 1\n│  └─ "
      "NUMA 1: 64 GiB, core 2\n│     └─ network card ib0 (mlx5_0): InfiniBand, 200 Gbit/s, 0000:9b:00.0\n├─ limits of "
      "the control group: CPU time of 2.5 cores, 16 GiB\n└─ 1 core more that this process may not use\n");
}

TEST(Draw, ALargeNodeInAFewLinesAndInAscii) {
  EXPECT_EQ(draw(from_synthetic("pack:2 numa:2(memory=96GiB) core:32 pu:2"), {.ascii = true}),
            "machine: 128 cores (256 hardware threads), 384 GiB\n"
            "|- package 0\n"
            "|  |- NUMA 0: 96 GiB, cores 0-31 (2 threads each: cpus 0-63)\n"
            "|  `- NUMA 1: 96 GiB, cores 32-63 (2 threads each: cpus 64-127)\n"
            "`- package 1\n"
            "   |- NUMA 2: 96 GiB, cores 64-95 (2 threads each: cpus 128-191)\n"
            "   `- NUMA 3: 96 GiB, cores 96-127 (2 threads each: cpus 192-255)\n");
}

TEST(Draw, DomainsThatSpanPackagesAndThoseWithoutCores) {
  Machine machine = from_synthetic("pack:2 core:2 pu:2");
  machine.numa[0].memory_bytes = std::uint64_t{3} << 29;
  machine.numa.push_back({.index = 4, .package = {}, .memory_bytes = std::uint64_t{8} << 30, .memory_only = true});
  machine.gpus.push_back({"far away", "0000:01:00.0", std::nullopt});
  EXPECT_EQ(
      draw(restricted(machine, CpuSet{0, 1, 2, 6, 7})),
      "machine: 3 cores (5 hardware threads), 9.5 GiB\n├─ package 0\n│  └─ NUMA 0: 1.5 GiB shared by packages, cores "
      "0-1 (cpus 0-2)\n├─ package 1\n│  └─ NUMA 0: 1.5 GiB shared by packages, core 3 (2 threads each: cpus 6-7)\n├─ "
      "NUMA 4: 8 GiB, memory only\n├─ GPU 0: far away, 0000:01:00.0\n└─ 1 core more that this process may not use\n");
}

TEST(Draw, ThePlanAsATable) {
  const BindingPlan plan = plan_binding(from_xml(TOPOLOGY_TESTDATA "/four_gpus.xml"), {.ranks = 4});
  EXPECT_EQ(summary(plan), "4 ranks, bound by gpu: 4 threads each, on 16 cores");
  EXPECT_EQ(draw(plan),
            "rank  cores  compute cpus  engine cpus  threads  NUMA  network card  GPU\n"
            "   0  4-7    4-7           23                 4  1     ib0           0\n"
            "   1  0-3    0-3           19                 4  0     ib0           1\n"
            "   2  12-15  12-15         31                 4  3     ib1           2\n"
            "   3  8-11   8-11          27                 4  2     ib1           3\n");
}

TEST(Draw, ThePlanWithoutColumnsThatSayNothing) {
  const BindingPlan plan = plan_binding(from_synthetic("core:2 pu:1"), {.ranks = 1, .policy = Policy::None});
  EXPECT_EQ(summary(plan), "1 rank, not bound: 2 threads each, on 2 cores");
  EXPECT_EQ(draw(plan),
            "rank  cores  compute cpus  threads  NUMA\n"
            "   0  0-1    0-1                 2  0\n");
}

}  // namespace
}  // namespace ronde::topology
