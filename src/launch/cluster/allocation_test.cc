#include "ronde/launch/cluster/allocation.h"

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"

namespace ronde::launch {
namespace {

std::string no_file(const std::string& path) {
  throw Error::bad_input("nobody should read {}", path);
}

std::string expanded(std::string_view text) {
  return join(expand_nodelist(text, "SLURM_JOB_NODELIST"), " ");
}

std::string written(const Allocation& allocation) {
  std::string text;
  for (const Host& host : allocation.hosts) text += fmt::format("{}:{}/{} ", host.name, host.slots, host.most);
  return text;
}

TEST(Nodelist, IsExpanded) {
  EXPECT_EQ(expanded("n1"), "n1");
  EXPECT_EQ(expanded("n[01-03,7],gpu[1-2]-ib"), "n01 n02 n03 n7 gpu1-ib gpu2-ib");
  EXPECT_EQ(expanded("login,c[098-101]"), "login c098 c099 c100 c101");
  EXPECT_EQ(expanded("r[0-1]n[2-3]"), "r0n2 r0n3 r1n2 r1n3");
}

TEST(Nodelist, WrongOnesAreNamed) {
  for (const auto* text : {"", "n[1-", "n[]", "n[a-b]", "n[3-1]", "n1]", "n1,,n2", "n[1-999999999]", "n[1,]"}) try {
      expand_nodelist(text, "SLURM_JOB_NODELIST");
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_NE(error.message().find(std::string("SLURM_JOB_NODELIST=") + text), std::string::npos);
    }
}

TEST(Allocation, OutsideOfAJobThereIsNone) {
  EXPECT_FALSE(allocation_from({{"PATH", "/bin"}}, no_file));
  EXPECT_FALSE(scheduler_of({{"PATH", "/bin"}}));
}

TEST(Allocation, OfSlurm) {
  const auto found = allocation_from({{"SLURM_JOB_ID", "7"},
                                      {"SLURM_JOB_NODELIST", "n[1-3],m1"},
                                      {"SLURM_TASKS_PER_NODE", "2(x3),1"},
                                      {"SLURM_JOB_CPUS_PER_NODE", "8(x4)"},
                                      {"SLURM_NTASKS", "7"}},
                                     no_file);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->scheduler, Scheduler::Slurm);
  EXPECT_EQ(written(*found), "n1:2/8 n2:2/8 n3:2/8 m1:1/8 ");
  EXPECT_EQ(found->ranks, 7);
}

TEST(Allocation, OfSlurmWithoutTasks) {
  const auto found = allocation_from({{"SLURM_NODELIST", "n[1-2]"}}, no_file);
  ASSERT_TRUE(found);
  EXPECT_EQ(written(*found), "n1:1/1 n2:1/1 ");
  EXPECT_EQ(found->ranks, 0);
}

TEST(Allocation, ContradictionsOfSlurmAreNamed) {
  try {
    allocation_from({{"SLURM_JOB_NODELIST", "n[1-3]"}, {"SLURM_TASKS_PER_NODE", "2(x2)"}}, no_file);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "SLURM_TASKS_PER_NODE=2(x2) is about 2 nodes, SLURM_JOB_NODELIST about 3");
  }
  EXPECT_THROW(allocation_from({{"SLURM_JOB_NODELIST", "n1"}, {"SLURM_NTASKS", "x"}}, no_file), Error);
}

TEST(Allocation, OfLsf) {
  const auto read = [](const std::string& path) {
    EXPECT_EQ(path, "/jobs/7.hosts");
    return std::string("batch5\nc1\nc1\nc2\nc2\n");
  };
  const auto found = allocation_from({{"LSB_JOBID", "7"}, {"LSB_DJOB_HOSTFILE", "/jobs/7.hosts"}}, read);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->scheduler, Scheduler::Lsf);
  EXPECT_EQ(written(*found), "c1:2/2 c2:2/2 ") << "the batch host runs no rank";
}

TEST(Allocation, OfLsfByVariable) {
  EXPECT_EQ(written(*allocation_from({{"LSB_MCPU_HOSTS", "n1 4 n2 2 "}}, no_file)), "n1:4/4 n2:2/2 ");
  EXPECT_EQ(written(*allocation_from({{"LSB_MCPU_HOSTS", "l1 1 n1 4"}, {"CSM_ALLOCATION_ID", "9"}}, no_file)),
            "n1:4/4 ");
  for (const auto* text : {"", "n1", "n1 4 n2", "n1 x"})
    EXPECT_THROW(allocation_from({{"LSB_MCPU_HOSTS", text}}, no_file), Error) << text;
}

TEST(Allocation, OfPbs) {
  const auto found = allocation_from({{"PBS_JOBID", "7"}, {"PBS_NODEFILE", "/nodes"}},
                                     [](const std::string&) { return std::string("a\na\nb\nb\n"); });
  ASSERT_TRUE(found);
  EXPECT_EQ(found->scheduler, Scheduler::Pbs);
  EXPECT_EQ(written(*found), "a:2/2 b:2/2 ");
}

TEST(Allocation, SchedulersAreKnownByName) {
  EXPECT_EQ(scheduler_of({{"PBS_JOBID", "7"}}), Scheduler::Pbs);
  EXPECT_EQ(parse_scheduler("lsf"), Scheduler::Lsf);
  EXPECT_EQ(name(Scheduler::Lsf), "LSF");
  EXPECT_THROW(parse_scheduler("Slurm?"), Error);
}

}  // namespace
}  // namespace ronde::launch
