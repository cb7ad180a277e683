#include "ronde/launch/cluster/script.h"

#include <gtest/gtest.h>

#include "ronde/base/error.h"

namespace ronde::launch {
namespace {

using namespace std::chrono_literals;

TEST(JobShape, IsCompleted) {
  EXPECT_EQ(complete({.ranks = 8, .per_node = 4}), (JobShape{8, 2, 4}));
  EXPECT_EQ(complete({.ranks = 8, .nodes = 2}), (JobShape{8, 2, 4}));
  EXPECT_EQ(complete({.nodes = 3, .per_node = 4}), (JobShape{12, 3, 4}));
  EXPECT_EQ(complete({.ranks = 5}), (JobShape{5, 1, 5}));
  EXPECT_EQ(complete({.per_node = 4}), (JobShape{4, 1, 4}));
  for (const JobShape wrong : {JobShape{}, JobShape{.nodes = 2}, JobShape{.ranks = 7, .per_node = 4},
                               JobShape{.ranks = 7, .nodes = 2}, JobShape{.ranks = 1, .nodes = 2}})
    EXPECT_THROW(complete(wrong), Error);
}

ScriptRequest request(Scheduler scheduler) {
  return {.scheduler = scheduler,
          .shape = {8, 2, 4},
          .time = 90min,
          .command = {"ronde", "run", "--", "python", "my train.py"}};
}

TEST(Script, OfSlurm) {
  ScriptRequest job = request(Scheduler::Slurm);
  EXPECT_EQ(batch_script(job),
            "#!/bin/bash\n#SBATCH --job-name=ronde\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=4\n#SBATCH "
            "--exclusive\n#SBATCH --time=01:30:00\n#SBATCH --output=%x-%j.out\n# If your site requires these, remove "
            "one # and fill in:\n##SBATCH --account=FILL_IN\n##SBATCH --partition=FILL_IN\n\nset -e\n# Add what your "
            "site needs to find MPI here: module load openmpi\n\n# Hosts, ranks and the time limit come from the "
            "job.\nronde run -- python 'my train.py'\n");
  job.account = "p1";
  job.queue = "gpu";
  job.gpus_per_node = 4;
  const std::string text = batch_script(job);
  for (const auto* line : {"\n#SBATCH --account=p1\n", "\n#SBATCH --partition=gpu\n", "\n#SBATCH --gpus-per-node=4\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line;
}

TEST(Script, OfLsf) {
  const std::string text = batch_script(request(Scheduler::Lsf));
  for (const auto* line : {"\n#BSUB -n 8\n", "\n#BSUB -R \"span[ptile=4]\"\n", "\n#BSUB -W 1:30\n",
                           "\n##BSUB -P FILL_IN", "\ncd \"$LS_SUBCWD\"\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line;
}

TEST(Script, OfPbs) {
  ScriptRequest job = request(Scheduler::Pbs);
  job.gpus_per_node = 2;
  const std::string text = batch_script(job);
  for (const auto* line : {"\n#PBS -l select=2:ncpus=4:mpiprocs=4:ngpus=2\n", "\n#PBS -l walltime=01:30:00\n",
                           "\n#PBS -l place=scatter:excl\n", "\ncd \"$PBS_O_WORKDIR\"\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line;
}

}  // namespace
}  // namespace ronde::launch
