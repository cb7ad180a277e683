#include "ronde/launch/run/rank_environment.h"

#include <gtest/gtest.h>

namespace ronde::launch {
namespace {

const JobFacts kFacts{.id = "17", .size = 4, .master_port = 29500, .bootstrap = "@ronde-1"};

topology::RankBinding third_rank() {
  topology::RankBinding binding;
  binding.rank = 2;
  binding.cpus = {4, 5, 6, 7};
  binding.engine = {7};
  binding.network = "ib0";
  binding.gpu = 2;
  binding.threads = 3;
  binding.omp_places = "{4:4}";
  return binding;
}

TEST(RankEnvironment, HasWhatTorchrunSetsAndWhatTheBootstrapNeeds) {
  const Environment launcher{{"HOME", "/home/x"}, {"RANK", "99"}, {"RONDE__BOOTSTRAP", "@of-an-outer-job"}};
  const Environment::Variables expected{{"HOME", "/home/x"},
                                        {"RANK", "2"},
                                        {"LOCAL_RANK", "2"},
                                        {"WORLD_SIZE", "4"},
                                        {"LOCAL_WORLD_SIZE", "4"},
                                        {"GROUP_RANK", "0"},
                                        {"MASTER_ADDR", "127.0.0.1"},
                                        {"MASTER_PORT", "29500"},
                                        {"OMP_NUM_THREADS", "3"},
                                        {"OMP_PLACES", "{4:4}"},
                                        {"OMP_PROC_BIND", "close"},
                                        {"KMP_AFFINITY", "nowarnings,norespect"},
                                        {"PYTHONUNBUFFERED", "1"},
                                        {"RONDE__ATTEMPT", "1"},
                                        {"RONDE__BOOTSTRAP", "@ronde-1"},
                                        {"RONDE__CPUS", "4-7"},
                                        {"RONDE__ENGINE_CPUS", "7"},
                                        {"RONDE__GPU", "2"},
                                        {"RONDE__JOB", "17"},
                                        {"RONDE__NIC", "ib0"},
                                        {"RONDE__RANK", "2"},
                                        {"RONDE__SIZE", "4"}};
  EXPECT_EQ(rank_environment(launcher, kFacts, third_rank()), expected);
}

TEST(RankEnvironment, OnOneMachineOfSeveralRanksHaveGlobalNumbers) {
  const JobFacts facts{.id = "9",
                       .size = 6,
                       .local_size = 3,
                       .ranks = {1, 3, 5},
                       .node = 1,
                       .master_address = "node1",
                       .master_port = 29500,
                       .bootstrap = "",
                       .attempt = 2};
  const Environment outer{{"RONDE__BOOTSTRAP", "@outer"}, {"RONDE__RANK", "0"}, {"RONDE__SIZE", "1"}};
  const auto variables = rank_environment(outer, facts, third_rank());
  EXPECT_EQ(variables.at("RANK"), "5");
  EXPECT_EQ(variables.at("LOCAL_RANK"), "2");
  EXPECT_EQ(variables.at("WORLD_SIZE"), "6");
  EXPECT_EQ(variables.at("LOCAL_WORLD_SIZE"), "3");
  EXPECT_EQ(variables.at("GROUP_RANK"), "1");
  EXPECT_EQ(variables.at("MASTER_ADDR"), "node1");
  EXPECT_EQ(variables.at("RONDE__ATTEMPT"), "2");
  for (const char* name : {"RONDE__BOOTSTRAP", "RONDE__RANK", "RONDE__SIZE"})
    EXPECT_FALSE(variables.contains(name)) << name << ": ranks meet over MPI, an outer job's bootstrap is not theirs";
}

TEST(RankEnvironment, LeavesTheNumberOfThreadsToAUserWhoHasSetIt) {
  const auto variables = rank_environment(Environment{{"OMP_NUM_THREADS", "7"}}, kFacts, third_rank());
  EXPECT_EQ(variables.at("OMP_NUM_THREADS"), "7");
  EXPECT_EQ(variables.at("OMP_PLACES"), "{4:4}") << "they still belong on the rank's cores";
}

TEST(RankEnvironment, ALineFitsTheTerminal) {
  JobFacts facts = kFacts;
  facts.columns = 76;
  EXPECT_EQ(rank_environment(Environment{}, facts, third_rank()).at("COLUMNS"), "76");
  EXPECT_EQ(rank_environment(Environment{{"COLUMNS", "40"}}, facts, third_rank()).at("COLUMNS"), "40");
}

TEST(RankEnvironment, LeavesPlacesToAUserWhoHasSetThem) {
  for (const char* name : {"OMP_PROC_BIND", "OMP_PLACES", "KMP_AFFINITY", "GOMP_CPU_AFFINITY"}) {
    const auto variables = rank_environment(Environment{{name, "x"}}, kFacts, third_rank());
    EXPECT_EQ(variables.at("OMP_NUM_THREADS"), "3");
    for (const char* other : {"OMP_PROC_BIND", "OMP_PLACES", "KMP_AFFINITY"})
      EXPECT_EQ(variables.contains(other), std::string(other) == name) << other << " for a user of " << name;
  }
}

TEST(RankEnvironment, SettingsOfTheLauncherReachTheRanks) {
  const JobFacts facts{
      .id = "1", .size = 1, .master_port = 1, .bootstrap = "@x", .settings = {{"RONDE_TRACE_DIR", "new"}}};
  const Environment launcher{{"RONDE_TRACE_DIR", "old"}, {"RONDE_LOG_LEVEL", "warn"}};
  const auto variables = rank_environment(launcher, facts, third_rank());
  EXPECT_EQ(variables.at("RONDE_TRACE_DIR"), "new");
  EXPECT_EQ(variables.at("RONDE_LOG_LEVEL"), "warn");
}

TEST(RankEnvironment, WhoIsNotBoundGetsNoPlaces) {
  topology::RankBinding binding = third_rank();
  binding.omp_places.clear();
  const auto variables = rank_environment(Environment{{"PYTHONUNBUFFERED", ""}}, kFacts, binding);
  EXPECT_EQ(variables.at("OMP_NUM_THREADS"), "3");
  EXPECT_FALSE(variables.contains("OMP_PROC_BIND"));
  EXPECT_EQ(variables.at("PYTHONUNBUFFERED"), "") << "the user's own";
}

TEST(RankEnvironment, ScriptsOfHorovodFindWhatHorovodrunSets) {
  JobFacts facts = kFacts;
  EXPECT_FALSE(rank_environment(Environment{}, facts, third_rank()).contains("HOROVOD_RANK"));
  facts.horovod = {.host = "n1", .python_path = "/shim:/python"};
  const auto variables = rank_environment(Environment{{"HOROVOD_SIZE", "99"}}, facts, third_rank());
  Environment::Variables horovod;
  for (const auto& [name, value] : variables)
    if (name.starts_with("HOROVOD_") || name == "PYTHONPATH") horovod[name] = value;
  const Environment::Variables expected{
      {"HOROVOD_RANK", "2"},          {"HOROVOD_SIZE", "4"},          {"HOROVOD_LOCAL_RANK", "2"},
      {"HOROVOD_LOCAL_SIZE", "4"},    {"HOROVOD_CROSS_RANK", "0"},    {"HOROVOD_CROSS_SIZE", "1"},
      {"HOROVOD_HOSTNAME", "n1"},     {"HOROVOD_CONTROLLER", "gloo"}, {"HOROVOD_CPU_OPERATIONS", "gloo"},
      {"PYTHONPATH", "/shim:/python"}};
  EXPECT_EQ(horovod, expected);
}

}  // namespace
}  // namespace ronde::launch
