#include "ronde/launch/rank_environment.h"

#include <gtest/gtest.h>

namespace ronde::launch {
namespace {

const JobFacts kFacts{.size = 4, .master_port = 29500, .bootstrap = "@ronde-1"};

topology::RankBinding third_rank() {
  topology::RankBinding binding;
  binding.rank = 2;
  binding.threads = 3;
  binding.omp_places = "{4}:3";
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
                                        {"OMP_PLACES", "{4}:3"},
                                        {"OMP_PROC_BIND", "close"},
                                        {"PYTHONUNBUFFERED", "1"},
                                        {"RONDE__BOOTSTRAP", "@ronde-1"},
                                        {"RONDE__RANK", "2"},
                                        {"RONDE__SIZE", "4"}};
  EXPECT_EQ(rank_environment(launcher, kFacts, third_rank()), expected);
}

TEST(RankEnvironment, LeavesThreadsToAUserWhoHasSetThem) {
  const auto variables = rank_environment(Environment{{"OMP_NUM_THREADS", "7"}}, kFacts, third_rank());
  EXPECT_EQ(variables.at("OMP_NUM_THREADS"), "7");
  EXPECT_FALSE(variables.contains("OMP_PLACES"));
  EXPECT_FALSE(variables.contains("OMP_PROC_BIND"));
}

TEST(RankEnvironment, LeavesPlacesToAUserWhoHasSetThem) {
  const auto variables = rank_environment(Environment{{"OMP_PROC_BIND", "spread"}}, kFacts, third_rank());
  EXPECT_EQ(variables.at("OMP_NUM_THREADS"), "3");
  EXPECT_EQ(variables.at("OMP_PROC_BIND"), "spread");
  EXPECT_FALSE(variables.contains("OMP_PLACES"));
}

TEST(RankEnvironment, SettingsOfTheLauncherReachTheRanks) {
  const JobFacts facts{.size = 1, .master_port = 1, .bootstrap = "@x", .settings = {{"RONDE_TRACE_DIR", "new"}}};
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

}  // namespace
}  // namespace ronde::launch
