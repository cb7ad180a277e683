#include "ronde/launch/place/rank_place.h"

#include <gtest/gtest.h>

#include "ronde/launch/process/test_complaint.h"

#include "ronde/base/error.h"

namespace ronde::launch {
namespace {

const std::vector<int> kThreeByTwo{2, 2, 2};

Environment open_mpi(int rank) {
  return {{"OMPI_COMM_WORLD_RANK", std::to_string(rank)},
          {"OMPI_COMM_WORLD_SIZE", "6"},
          {"OMPI_COMM_WORLD_LOCAL_RANK", std::to_string(rank % 2)},
          {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
          {"SLURM_PROCID", "1"},  // of the daemon that has started the rank
          {"SLURM_NTASKS", "3"}};
}

TEST(RankPlace, UnderOpenMpi) {
  const RankPlace expected{
      .rank = 3, .size = 6, .local_rank = 1, .local_size = 2, .node = 1, .cross_rank = 1, .cross_size = 3};
  EXPECT_EQ(rank_place(open_mpi(3), LauncherKind::OpenMpi, kThreeByTwo), expected);
  EXPECT_EQ(rank_place(open_mpi(3), {}, kThreeByTwo), expected) << "the most specific variables win";
}

TEST(RankPlace, UnderHydra) {
  const Environment environment{
      {"PMI_RANK", "2"}, {"PMI_SIZE", "6"}, {"MPI_LOCALRANKID", "0"}, {"MPI_LOCALNRANKS", "2"}};
  EXPECT_EQ(
      rank_place(environment, LauncherKind::Hydra, kThreeByTwo),
      (RankPlace{.rank = 2, .size = 6, .local_rank = 0, .local_size = 2, .node = 1, .cross_rank = 1, .cross_size = 3}));
}

TEST(RankPlace, UnderSrun) {
  const Environment environment{
      {"SLURM_PROCID", "5"}, {"SLURM_NTASKS", "9"}, {"SLURM_STEP_NUM_TASKS", "6"}, {"SLURM_LOCALID", "2"}};
  EXPECT_EQ(
      rank_place(environment, LauncherKind::Srun, {3, 3}),
      (RankPlace{.rank = 5, .size = 6, .local_rank = 2, .local_size = 3, .node = 1, .cross_rank = 1, .cross_size = 2}));
}

TEST(RankPlace, UnderJsrun) {
  const Environment environment{{"JSM_NAMESPACE_RANK", "1"}, {"JSM_NAMESPACE_SIZE", "4"}};
  EXPECT_EQ(
      rank_place(environment, LauncherKind::Jsrun, {1, 3}),
      (RankPlace{.rank = 1, .size = 4, .local_rank = 0, .local_size = 3, .node = 1, .cross_rank = 1, .cross_size = 2}))
      << "the layout tells what the variables do not";
}

TEST(RankPlace, WhatContradictsIsRefused) {
  const auto complaint = [](const Environment& environment, std::optional<LauncherKind> launcher,
                            const std::vector<int>& layout) {
    try {
      rank_place(environment, launcher, layout);
    } catch (const Error& error) {
      return error.message();
    }
    return std::string("no error");
  };
  EXPECT_EQ(
      complaint(open_mpi(0), LauncherKind::OpenMpi, {2, 2}),
      "mpirun has started 6 ranks (OMPI_COMM_WORLD_SIZE) instead of 4: it did not follow the request of 'ronde run'");
  EXPECT_NE(complaint({}, LauncherKind::Srun, {}).find("variables of srun"), std::string::npos);
  EXPECT_NE(complaint({{"PMI_RANK", "x"}, {"PMI_SIZE", "2"}}, {}, {}).find("PMI_RANK=x"), std::string::npos);
  EXPECT_NE(complaint({{"PMI_RANK", "2"}, {"PMI_SIZE", "2"}}, {}, {}).find("numbered from 0"), std::string::npos);
  EXPECT_NE(
      complaint({{"SLURM_PROCID", "2"}, {"SLURM_NTASKS", "6"}, {"SLURM_LOCALID", "2"}}, {}, {1, 5}).find("no error"),
      std::string::npos);
  EXPECT_NE(
      complaint({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "6"}, {"SLURM_LOCALID", "2"}}, {}, {1, 5}).find("--layout"),
      std::string::npos);
}

TEST(StartedEnvironment, HasTheNumbersOfTheWholeJobAndNoBootstrap) {
  topology::RankBinding binding;
  binding.rank = 1;
  binding.threads = 3;
  const auto variables = started_environment({{"HOME", "/h"}, {"RONDE__BOOTSTRAP", "x"}, {"RONDE_LOG_LEVEL", "warn"}},
                                             {.rank = 3, .size = 6, .local_rank = 1, .local_size = 2, .node = 1},
                                             {.master = "n1:2345", .attempt = 2}, binding);
  const auto expect = [&](const char* name, const char* value) { EXPECT_EQ(variables.at(name), value) << name; };
  expect("RANK", "3");
  expect("WORLD_SIZE", "6");
  expect("LOCAL_RANK", "1");
  expect("LOCAL_WORLD_SIZE", "2");
  expect("GROUP_RANK", "1");
  expect("MASTER_ADDR", "n1");
  expect("MASTER_PORT", "2345");
  expect("OMP_NUM_THREADS", "3");
  expect("RONDE__ATTEMPT", "2");
  expect("RONDE_LOG_LEVEL", "warn");
  for (const auto* name : {"RONDE__BOOTSTRAP", "RONDE__RANK", "RONDE__SIZE"}) EXPECT_FALSE(variables.contains(name));
}

TEST(RankPlace, CrossNumbersCountTheMachinesThatHaveThisLocalRank) {
  const std::vector<int> layout{2, 1, 3};
  const auto place = [&](int rank, int local, int here) {
    return rank_place({{"OMPI_COMM_WORLD_RANK", std::to_string(rank)},
                       {"OMPI_COMM_WORLD_SIZE", "6"},
                       {"OMPI_COMM_WORLD_LOCAL_RANK", std::to_string(local)},
                       {"OMPI_COMM_WORLD_LOCAL_SIZE", std::to_string(here)}},
                      LauncherKind::OpenMpi, layout);
  };
  const auto cross = [&](int rank, int local, int here) {
    return std::pair(place(rank, local, here).cross_rank, place(rank, local, here).cross_size);
  };
  EXPECT_EQ(cross(0, 0, 2), std::pair(0, 3));
  EXPECT_EQ(cross(1, 1, 2), std::pair(0, 2)) << "the second machine has no second rank";
  EXPECT_EQ(cross(2, 0, 1), std::pair(1, 3));
  EXPECT_EQ(cross(4, 1, 3), std::pair(1, 2));
  EXPECT_EQ(cross(5, 2, 3), std::pair(0, 1));
}

TEST(StartedEnvironment, ForScriptsOfHorovod) {
  topology::RankBinding binding;
  binding.rank = 1;
  RankPlace place{.rank = 3, .size = 6, .local_rank = 1, .local_size = 2, .node = 1, .cross_rank = 1, .cross_size = 3};
  const StartedJob job{.master = "n1:2345", .host = "n2", .horovod_path = "/shim:/python"};
  const auto variables = started_environment({{"PYTHONPATH", "/mine"}}, place, job, binding);
  const auto expect = [&](const char* name, const char* value) { EXPECT_EQ(variables.at(name), value) << name; };
  expect("HOROVOD_RANK", "3");
  expect("HOROVOD_SIZE", "6");
  expect("HOROVOD_LOCAL_RANK", "1");
  expect("HOROVOD_LOCAL_SIZE", "2");
  expect("HOROVOD_CROSS_RANK", "1");
  expect("HOROVOD_CROSS_SIZE", "3");
  expect("HOROVOD_HOSTNAME", "n2");
  expect("PYTHONPATH", "/shim:/python:/mine");
  place.cross_size = 0;
  EXPECT_NE(complaint([&] { started_environment({}, place, job, binding); }).find("--layout"), std::string::npos);
}

}  // namespace
}  // namespace ronde::launch
