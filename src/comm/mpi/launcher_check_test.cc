#include "ronde/comm/mpi/launcher_check.h"

#include <gtest/gtest.h>

#include "ronde/comm/mpi/find_plugin.h"

namespace ronde::comm::detail {
namespace {

const std::string kOpenMpi = "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4";
const std::string kMpich = "MPICH Version:      4.0.2\nMPICH Release date: Thu\nMPICH Device: ch4:ucx";

TEST(LaunchedBy, KnowsTheLaunchers) {
  EXPECT_EQ(launched_by({}).ranks, 0);
  EXPECT_EQ(launched_by({{"SLURM_NTASKS", "4"}}).ranks, 0) << "inside of sbatch, not started by srun";
  const LaunchedBy mpirun = launched_by({{"OMPI_COMM_WORLD_SIZE", "4"}, {"PMIX_RANK", "0"}});
  EXPECT_EQ(mpirun.ranks, 4);
  EXPECT_EQ(mpirun.kind, MpiKind::OpenMpi);
  const LaunchedBy hydra = launched_by({{"PMI_SIZE", "3"}});
  EXPECT_EQ(hydra.ranks, 3);
  EXPECT_EQ(hydra.kind, MpiKind::Mpich);
  const LaunchedBy pmix = launched_by({{"SLURM_STEP_NUM_TASKS", "2"}, {"PMIX_NAMESPACE", "x"}});
  EXPECT_EQ(pmix.ranks, 2);
  EXPECT_EQ(pmix.kind, MpiKind::OpenMpi);
  EXPECT_EQ(launched_by({{"SLURM_STEP_NUM_TASKS", "2"}, {"PMI_SIZE", "2"}}).kind, MpiKind::Mpich);
  EXPECT_EQ(launched_by({{"SLURM_STEP_NUM_TASKS", "2"}}).kind, std::nullopt);
}

TEST(TroubleBeforeStart, SrunInAWayThatOpenMpiDoesNotUnderstand) {
  const Environment pmi2{{"SLURM_STEP_NUM_TASKS", "4"}, {"PMI_SIZE", "4"}};
  const std::string text = trouble_before_start(pmi2, "/lib/libmpi.so.40", kOpenMpi);
  EXPECT_NE(text.find("srun --mpi=pmi2"), std::string::npos) << text;
  EXPECT_NE(text.find("Open MPI v4.1.4 (/lib/libmpi.so.40)"), std::string::npos) << text;
  EXPECT_NE(text.find("srun --mpi=pmix"), std::string::npos) << text;
  EXPECT_NE(trouble_before_start({{"SLURM_STEP_NUM_TASKS", "4"}}, "x", kOpenMpi), "");
  EXPECT_EQ(trouble_before_start(pmi2, "x", kMpich), "");
  EXPECT_EQ(trouble_before_start({{"SLURM_STEP_NUM_TASKS", "4"}, {"PMIX_NAMESPACE", "n"}}, "x", kOpenMpi), "");
  EXPECT_EQ(trouble_before_start({{"OMPI_COMM_WORLD_SIZE", "4"}}, "x", kOpenMpi), "");
}

TEST(TroubleWithWorld, NamesLauncherAndLibrary) {
  const Environment mpirun{{"OMPI_COMM_WORLD_SIZE", "4"}};
  EXPECT_EQ(trouble_with_world(mpirun, 4, "x", kOpenMpi), "");
  EXPECT_EQ(trouble_with_world({}, 4, "x", kOpenMpi), "") << "another launcher";
  const std::string text = trouble_with_world(mpirun, 1, "/lib/libmpich.so.12", kMpich);
  EXPECT_NE(text.find("mpirun of Open MPI"), std::string::npos) << text;
  EXPECT_NE(text.find("4 ranks"), std::string::npos) << text;
  EXPECT_NE(text.find("MPICH 4.0.2 (/lib/libmpich.so.12), sees 1"), std::string::npos) << text;
  const std::string slurm =
      trouble_with_world({{"SLURM_STEP_NUM_TASKS", "2"}, {"PMIX_NAMESPACE", "n"}}, 1, "y", kMpich);
  EXPECT_NE(slurm.find("srun --mpi=pmi2"), std::string::npos) << slurm;
}

TEST(Plugins, FollowWhatIsLoadedThenWhatIsWantedThenTheLauncher) {
  const LaunchedBy hydra{.ranks = 2, .launcher = "mpiexec", .kind = MpiKind::Mpich};
  using Kinds = std::vector<MpiKind>;
  EXPECT_EQ(plugins_to_try("/usr/lib/libmpi.so.40", "libmpich.so", hydra), Kinds{MpiKind::OpenMpi});
  EXPECT_EQ(plugins_to_try("", "libmpi.so.40", hydra), Kinds{MpiKind::OpenMpi});
  EXPECT_EQ(plugins_to_try("", "", hydra), Kinds{MpiKind::Mpich});
  EXPECT_EQ(plugins_to_try("", "", {}).size(), 2u);
  EXPECT_EQ(kind_of_file("/opt/intel/libmpi.so.12"), MpiKind::Mpich);
  EXPECT_EQ(kind_of_file("/opt/cray/libmpi_cray.so.12"), MpiKind::Mpich);
  EXPECT_EQ(kind_of_file("/lib/libm.so.6"), std::nullopt);
}

}  // namespace
}  // namespace ronde::comm::detail
