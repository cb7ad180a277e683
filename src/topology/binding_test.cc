#include "ronde/topology/binding.h"

#include <gtest/gtest.h>

#include "ronde/base/error.h"

namespace ronde::topology {
namespace {

using Texts = std::vector<std::string>;

Texts compute_cpus(const BindingPlan& plan) {
  Texts cpus;
  for (const RankBinding& rank : plan.ranks) cpus.push_back(rank.compute.format());
  return cpus;
}

Texts engine_cpus(const BindingPlan& plan) {
  Texts cpus;
  for (const RankBinding& rank : plan.ranks) cpus.push_back(rank.engine.format());
  return cpus;
}

BindingPlan plan_on(const char* machine, const BindingRequest& request) {
  return plan_binding(from_synthetic(machine), request);
}

Machine with_gpus(const char* description, const std::vector<int>& domains) {
  Machine machine = from_synthetic(description);
  for (const int numa : domains) machine.gpus.push_back({"gpu", "bus", numa});
  return machine;
}

TEST(Binding, OneRankGetsTheWholeMachine) {
  const BindingPlan plan = plan_on("pack:2 numa:1 core:2 pu:1", {.ranks = 1});
  EXPECT_EQ(plan.policy, Policy::Core);
  EXPECT_EQ(compute_cpus(plan), Texts{"0-3"});
  EXPECT_EQ(plan.ranks[0].numa, (std::vector<int>{0, 1}));
  EXPECT_EQ(plan.ranks[0].threads, 4);
  EXPECT_EQ(plan.ranks[0].omp_places, "{0:4}");
  EXPECT_EQ(plan.warnings, Texts{});
}

TEST(Binding, ThreadsStayOnTheirRanksCoresOrEachOnItsOwnByChoice) {
  const BindingPlan loose = plan_on("core:4 pu:1", {.ranks = 2});
  EXPECT_EQ(loose.ranks[1].omp_places, "{2:2}");
  const BindingPlan pinned = plan_on("core:4 pu:1", {.ranks = 2, .pin_threads = true});
  EXPECT_EQ(pinned.ranks[1].omp_places, "{2}:2");
  const BindingPlan few = plan_on("core:4 pu:1", {.ranks = 1, .threads = 2});
  EXPECT_EQ(few.ranks[0].omp_places, "{0:4}") << "what else the rank starts may use its other cores";
}

TEST(Binding, RanksSpreadOverPackagesAndDomains) {
  const BindingPlan plan = plan_on("pack:2 numa:2 core:2 pu:1", {.ranks = 6});
  EXPECT_EQ(compute_cpus(plan), (Texts{"0", "1", "2", "4", "5", "6"})) << "three on each package";
  EXPECT_EQ(plan.ranks[2].cpus, (CpuSet{2, 3}));
  EXPECT_EQ(plan.ranks[2].engine, CpuSet{3}) << "its second core, since all ranks compute with one thread";
  EXPECT_EQ(plan.ranks[5].numa, std::vector<int>{3});
  for (const RankBinding& rank : plan.ranks) EXPECT_EQ(rank.threads, 1);
}

TEST(Binding, ThreeRanksOnTwoPackagesComputeWithEquallyManyThreads) {
  const BindingPlan plan = plan_on("pack:2 numa:1 core:4 pu:1", {.ranks = 3});
  EXPECT_EQ(compute_cpus(plan), (Texts{"0-1", "2-3", "4-5"}));
  EXPECT_EQ(plan.ranks[2].cpus.format(), "4-7");
  EXPECT_EQ(engine_cpus(plan), (Texts{"0-1", "2-3", "7"}));
}

TEST(Binding, MoreRanksThanCoresTakeTurnsWithOneLineOfWarning) {
  const BindingPlan plan = plan_on("core:1 pu:1", {.ranks = 8});
  EXPECT_EQ(compute_cpus(plan), Texts(8, "0"));
  EXPECT_EQ(plan.ranks[7].threads, 1);
  EXPECT_EQ(plan.warnings, Texts{"8 ranks take turns on 1 core: expect each to be slower"});

  EXPECT_EQ(compute_cpus(plan_on("core:2 pu:1", {.ranks = 5})), (Texts{"0", "1", "0", "1", "0"}));
}

TEST(Binding, HardwareThreadsAreLeftIdleOrUsedByChoice) {
  const BindingPlan idle = plan_on("core:4 pu:2", {.ranks = 2, .pin_threads = true});
  EXPECT_EQ(compute_cpus(idle), (Texts{"0,2", "4,6"}));
  EXPECT_EQ(engine_cpus(idle), (Texts{"3", "7"})) << "a thread that computes nothing";
  EXPECT_EQ(idle.ranks[1].cpus.format(), "4,6-7");
  EXPECT_EQ(idle.ranks[1].omp_places, "{4}:2:2");

  const BindingPlan used = plan_on("core:4 pu:2", {.ranks = 2, .hardware_threads = true, .pin_threads = true});
  EXPECT_EQ(compute_cpus(used), (Texts{"0-3", "4-7"}));
  EXPECT_EQ(used.ranks[1].threads, 4);
  EXPECT_EQ(used.ranks[1].omp_places, "{4}:4");

  const BindingPlan two =
      plan_on("core:4 pu:2", {.ranks = 2, .threads = 2, .hardware_threads = true, .pin_threads = true});
  EXPECT_EQ(two.ranks[1].omp_places, "{4:2},{6:2}") << "a core for each thread";

  const BindingPlan many = plan_on("core:2 pu:2", {.ranks = 4, .hardware_threads = true});
  EXPECT_EQ(compute_cpus(many), (Texts{"0", "1", "2", "3"}));
  EXPECT_EQ(many.warnings, Texts{});
}

TEST(Binding, AnEngineGetsItsOwnCoreWhereThereAreEnough) {
  EXPECT_EQ(engine_cpus(plan_on("core:8 pu:1", {.ranks = 1})), Texts{"7"});
  EXPECT_EQ(compute_cpus(plan_on("core:8 pu:1", {.ranks = 1})), Texts{"0-6"});
  EXPECT_EQ(engine_cpus(plan_on("core:7 pu:1", {.ranks = 1})), Texts{"0-6"});
  EXPECT_EQ(compute_cpus(plan_on("core:8 pu:1", {.ranks = 1, .engine_core = false})), Texts{"0-7"});
  EXPECT_EQ(engine_cpus(plan_on("core:4 pu:1", {.ranks = 1, .threads = 3})), Texts{"3"});
  EXPECT_EQ(compute_cpus(plan_on("core:8 pu:1", {.ranks = 1, .threads = 8})), Texts{"0-7"}) << "the user counts";
}

TEST(Binding, ThreadsThatDoNotFitADomainCrossItAndTooManyAreSaid) {
  const BindingPlan crossing = plan_on("pack:1 numa:4 core:4 pu:1", {.ranks = 3, .threads = 5, .engine_core = false});
  EXPECT_EQ(compute_cpus(crossing), (Texts{"0-4", "6-10", "11-15"}));
  EXPECT_EQ(crossing.ranks[0].numa, (std::vector<int>{0, 1}));

  const BindingPlan crowded = plan_on("core:4 pu:1", {.ranks = 2, .threads = 4, .pin_threads = true});
  EXPECT_EQ(crowded.ranks[1].threads, 4);
  EXPECT_EQ(crowded.ranks[1].omp_places, "{2}:2");
  EXPECT_EQ(crowded.warnings, Texts{"2 ranks with 4 threads each exceed 4 cores"});
}

TEST(Binding, WholeDomainsOrPackagesAreShared) {
  const BindingPlan numa = plan_on("pack:2 numa:2 core:4 pu:1", {.ranks = 6, .policy = Policy::Numa});
  EXPECT_EQ(compute_cpus(numa), (Texts{"0-3", "0-3", "4-7", "8-11", "8-11", "12-15"}));
  EXPECT_EQ(numa.ranks[0].threads, 2);
  EXPECT_EQ(numa.ranks[0].omp_places, "{0:4}") << "one place: two ranks must not crowd on its first cores";

  const BindingPlan socket = plan_on("pack:2 numa:2 core:4 pu:1", {.ranks = 4, .policy = Policy::Socket});
  EXPECT_EQ(compute_cpus(socket), (Texts{"0-7", "0-7", "8-15", "8-15"}));
  EXPECT_EQ(socket.ranks[3].numa, (std::vector<int>{2, 3}));
  EXPECT_EQ(socket.ranks[3].threads, 4);

  const BindingPlan one = plan_on("pack:2 numa:1 core:4 pu:1", {.ranks = 1, .policy = Policy::Numa});
  EXPECT_EQ(one.warnings, Texts{"4 of 8 cores are not assigned to any rank (1 rank, bound by numa)"});
}

TEST(Binding, NobodyIsBoundWhenAskedNotTo) {
  const BindingPlan plan = plan_on("core:4 pu:2", {.ranks = 2, .policy = Policy::None});
  EXPECT_EQ(compute_cpus(plan), (Texts{"0-7", "0-7"}));
  EXPECT_EQ(plan.ranks[0].cpus.format(), "0-7");
  EXPECT_EQ(plan.ranks[0].omp_places, "");
  EXPECT_EQ(plan.ranks[0].threads, 2);
}

TEST(Binding, KeepsToACpusetWithHoles) {
  const Machine machine = restricted(from_synthetic("pack:2 numa:1 core:6 pu:1"), CpuSet::parse("0-2,4-5,8,10-11"));
  const BindingPlan plan = plan_binding(machine, {.ranks = 4, .engine_core = false});
  EXPECT_EQ(compute_cpus(plan), (Texts{"0", "2", "5", "8"})) << "one thread each, since the first package has five";
  EXPECT_EQ(plan.ranks[0].cpus.format(), "0-1");
  EXPECT_EQ(plan.ranks[3].cpus.format(), "8,10-11");
}

TEST(Binding, RanksSitNextToTheirGpu) {
  const BindingPlan plan = plan_binding(with_gpus("pack:2 numa:1 core:4 pu:1", {1, 0}), {.ranks = 2});
  EXPECT_EQ(plan.policy, Policy::Gpu);
  EXPECT_EQ(compute_cpus(plan), (Texts{"4-7", "0-3"}));
  EXPECT_EQ(plan.ranks[0].gpu, 0);
  EXPECT_EQ(plan.ranks[1].gpu, 1);
  EXPECT_EQ(plan.warnings, Texts{});
}

TEST(Binding, ANodeForTrainingUnderEachPolicy) {
  const Machine machine = from_xml(TOPOLOGY_TESTDATA "/four_gpus.xml");
  const auto cores = [&](int ranks, Policy policy) {
    Texts found;
    for (const RankBinding& rank : plan_binding(machine, {.ranks = ranks, .policy = policy}).ranks)
      found.push_back(CpuSet(rank.cores).format() + " " + rank.network);
    return found;
  };
  EXPECT_EQ(cores(4, Policy::Gpu), (Texts{"4-7 ib0", "0-3 ib0", "12-15 ib1", "8-11 ib1"}));
  EXPECT_EQ(cores(4, Policy::Core), (Texts{"0-3 ib0", "4-7 ib0", "8-11 ib1", "12-15 ib1"}));
  EXPECT_EQ(cores(2, Policy::Core), (Texts{"0-7 ib0", "8-15 ib1"}));
  EXPECT_EQ(cores(8, Policy::Numa),
            (Texts{"0-3 ib0", "0-3 ib0", "4-7 ib0", "4-7 ib0", "8-11 ib1", "8-11 ib1", "12-15 ib1", "12-15 ib1"}));
  EXPECT_EQ(cores(2, Policy::Socket), (Texts{"0-7 ib0", "8-15 ib1"}));
  EXPECT_EQ(cores(1, Policy::None), Texts{"0-15 ib0"});

  const BindingPlan hidden = plan_binding(with_visible_gpus(machine, "2,3"), {.ranks = 2});
  EXPECT_EQ(hidden.policy, Policy::Gpu);
  EXPECT_EQ(hidden.ranks[0].numa, std::vector<int>{3}) << "next to the first GPU that it will see";
  EXPECT_EQ(plan_binding(with_visible_gpus(machine, ""), {.ranks = 2}).policy, Policy::Core);
  EXPECT_EQ(plan_binding(machine, {.ranks = 4, .policy = Policy::Core}).warnings,
            Texts{"bound by core, ranks 0-3 are far from their GPUs; --bind gpu places them near their GPUs"});
}

TEST(Binding, GpusOnOnePackageKeepEverybodyThere) {
  const BindingPlan plan = plan_binding(with_gpus("pack:2 numa:1 core:4 pu:1", {1, 1}), {.ranks = 2});
  EXPECT_EQ(compute_cpus(plan), (Texts{"4-5", "6-7"}));
  EXPECT_EQ(plan.warnings, Texts{"4 of 8 cores are not assigned to any rank (2 ranks, bound by gpu)"});
}

TEST(Binding, SaysWhenGpusAreShortOrFar) {
  const Machine one = with_gpus("pack:2 numa:1 core:2 pu:1", {0});
  EXPECT_EQ(plan_binding(one, {.ranks = 2}).policy, Policy::Core) << "not enough for all";
  const BindingPlan shared = plan_binding(one, {.ranks = 2, .policy = Policy::Gpu});
  EXPECT_EQ(shared.warnings.back(), "2 ranks share 1 GPU, assigned round robin");
  EXPECT_EQ(shared.ranks[1].gpu, 0);

  const BindingPlan none = plan_on("core:2 pu:1", {.ranks = 2, .policy = Policy::Gpu});
  EXPECT_EQ(none.policy, Policy::Core);
  EXPECT_EQ(none.warnings, Texts{"there is no GPU to bind to; ranks are spread over the cores instead"});

  Machine unknown = with_gpus("pack:2 numa:1 core:2 pu:1", {0, 1});
  unknown.gpus[1].numa = std::nullopt;
  const BindingPlan spread = plan_binding(unknown, {.ranks = 2});
  EXPECT_EQ(compute_cpus(spread), (Texts{"0-1", "2-3"}));
  EXPECT_EQ(spread.warnings, Texts{"rank 1 cannot be bound near GPU 1: the machine does not report where it is"});

  const Machine foreign = restricted(with_gpus("pack:2 numa:1 core:2 pu:1", {0, 1}), CpuSet{0, 1});
  EXPECT_EQ(plan_binding(foreign, {.ranks = 2}).warnings,
            Texts{"rank 1 cannot be bound near GPU 1: this process may not use the cores there"});
}

TEST(Binding, AControlGroupsQuotaLimitsThreads) {
  Machine machine = from_synthetic("core:8 pu:1");
  machine.limits.cpu_quota = 4.5;
  const BindingPlan plan = plan_binding(machine, {.ranks = 2});
  EXPECT_EQ(compute_cpus(plan), (Texts{"0-1", "4-5"}));
  EXPECT_EQ(plan.warnings, Texts{"the control group limits ranks to the CPU time of 4.5 cores on 8 cores; the number "
                                 "of threads is limited to that"});

  const BindingPlan insisted = plan_binding(machine, {.ranks = 2, .threads = 4});
  EXPECT_EQ(insisted.ranks[0].threads, 4);
  EXPECT_EQ(insisted.warnings,
            Texts{"the control group limits ranks to the CPU time of 4.5 cores on 8 cores; ranks will be throttled"});

  machine.limits.cpu_quota = 8;
  EXPECT_EQ(plan_binding(machine, {.ranks = 2}).warnings, Texts{});
}

TEST(Binding, RefusesTheImpossibleInASentence) {
  const Machine machine = from_synthetic("core:2 pu:1");
  const auto complaint = [](const Machine& on, const BindingRequest& request) -> std::string {
    try {
      plan_binding(on, request);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::BadInput);
      return error.message();
    }
    return "none";
  };
  EXPECT_EQ(complaint(machine, {.ranks = 0}), "number of ranks must be at least 1, got 0");
  EXPECT_EQ(complaint(machine, {.ranks = 1, .threads = -2}),
            "threads per rank must be at least 1, or 0 for as many as fit, got -2");
  Machine empty;
  empty.hostname = "b2";
  EXPECT_EQ(complaint(empty, {.ranks = 1}), "cannot place ranks on b2: it has no usable core");
}

TEST(Binding, PoliciesHaveNames) {
  for (const char* text : {"auto", "none", "core", "numa", "socket", "gpu"}) EXPECT_EQ(name(parse_policy(text)), text);
  try {
    parse_policy("tight");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "unknown binding policy 'tight'; use one of auto, none, core, numa, socket, gpu");
  }
}

}  // namespace
}  // namespace ronde::topology
