#include "ronde/launch/place/plan_hosts.h"

#include <gtest/gtest.h>

#include "ronde/base/error.h"

namespace ronde::launch {
namespace {

const Environment kSlurm{{"SLURM_JOB_ID", "1"}, {"SLURM_JOB_NODELIST", "n[1-2]"}, {"SLURM_TASKS_PER_NODE", "2(x2)"}};

std::string two_hosts(const std::string& path) {
  EXPECT_EQ(path, "hosts.txt");
  return "a slots=2\nb slots=1\n";
}

HostPlan plan(const HostFlags& flags, const Environment& environment = {}, const std::string& this_host = "b2") {
  return plan_hosts(flags, environment, this_host, two_hosts);
}

TEST(PlanHosts, WithoutHostsItIsThisMachine) {
  const HostPlan found = plan({.count = {.ranks = 3}});
  EXPECT_TRUE(found.here);
  EXPECT_EQ(found.placement.hosts, (std::vector<HostShare>{{"b2", 3}}));
  EXPECT_THROW(plan({}), Error);
  EXPECT_EQ(plan({.count = {.per_host = 2}}).placement.ranks, 2);
}

TEST(PlanHosts, FlagsComeBeforeTheBatchSystem) {
  EXPECT_EQ(plan({.hosts = "a:4"}, kSlurm).placement.ranks, 4);
  EXPECT_FALSE(plan({.hosts = "a:4"}, kSlurm).scheduler);
  EXPECT_EQ(layout_of(plan({.hostfile = "hosts.txt"}).placement), (std::vector{2, 1}));
  EXPECT_THROW(plan({.hosts = "a", .hostfile = "hosts.txt"}), Error);
}

TEST(PlanHosts, InABatchJobNothingNeedsToBeSaid) {
  const HostPlan found = plan({}, kSlurm, "n1");
  EXPECT_EQ(found.scheduler, Scheduler::Slurm);
  EXPECT_EQ(layout_of(found.placement), (std::vector{2, 2}));
  EXPECT_FALSE(found.here);
  EXPECT_TRUE(plan({.count = {.ranks = 2}}, kSlurm, "n1").here) << "both fit here";
  EXPECT_FALSE(plan({.count = {.ranks = 2}}, kSlurm, "login").here);
  EXPECT_EQ(layout_of(plan({.count = {.per_host = 1}}, kSlurm).placement), (std::vector{1, 1}));
}

TEST(PlanHosts, LocalHostIsHere) {
  EXPECT_TRUE(plan({.hosts = "localhost:2,b2.cluster:1"}).here);
  EXPECT_FALSE(plan({.hosts = "localhost:2,c3:1"}).here);
}

TEST(ReadWholeFile, NamesWhatItCannotRead) {
  try {
    read_whole_file("/no/such/file");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "cannot read /no/such/file: No such file or directory");
  }
  EXPECT_THROW(read_whole_file("/"), Error);
}

}  // namespace
}  // namespace ronde::launch
