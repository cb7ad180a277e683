#include "ronde/topology/json.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace ronde::topology {
namespace {

TEST(TopologyJson, TellsTheMachineWithItsOwnNumbers) {
  Machine machine = restricted(from_xml(TOPOLOGY_TESTDATA "/two_packages.xml"), CpuSet{2});
  machine.limits.cpu_quota = 1.5;
  const nlohmann::json json = to_json(machine);
  EXPECT_EQ(json["hostname"], "node7");
  EXPECT_EQ(json["cores"].size(), 1u);
  EXPECT_EQ(json["cores"][0]["index"], 2);
  EXPECT_EQ(json["cores"][0]["package"], 1);
  EXPECT_EQ(json["cores"][0]["cpus"], "2");
  EXPECT_EQ(json["gpus"][0]["numa"], 0);
  EXPECT_EQ(json["networks"][1]["kind"], "InfiniBand");
  EXPECT_EQ(json["networks"][1]["rdma"], "mlx5_0");
  EXPECT_TRUE(json["networks"][0]["rdma"].is_null());
  EXPECT_EQ(json["limits"]["cpu_quota"], 1.5);
  EXPECT_TRUE(json["limits"]["memory_bytes"].is_null());
  EXPECT_EQ(json["forbidden_cores"], 3);
}

TEST(TopologyJson, TellsThePlanRankByRank) {
  const BindingPlan plan = plan_binding(from_synthetic("pack:2 numa:1 core:2 pu:1"), {.ranks = 2});
  const nlohmann::json json = to_json(plan);
  EXPECT_EQ(json["policy"], "core");
  EXPECT_EQ(json["ranks"][1]["compute"], "2-3");
  EXPECT_EQ(json["ranks"][1]["omp_places"], "{2:2}");
  EXPECT_EQ(json["ranks"][1]["numa"], nlohmann::json::array({1}));
  EXPECT_TRUE(json["ranks"][1]["gpu"].is_null());
  EXPECT_TRUE(json["warnings"].empty());
}

}  // namespace
}  // namespace ronde::topology
