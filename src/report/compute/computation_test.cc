// How near the layers of a run come to their roofs, from its trace to its verdict.
#include <string>

#include <gtest/gtest.h>

#include "ronde/base/system/rates_file.h"
#include "ronde/base/testing/folder.h"
#include "ronde/base/text/format.h"
#include "ronde/report/analysis.h"
#include "ronde/report/json/report_json.h"
#include "ronde/report/testing/generate.h"
#include "ronde/report/text/text.h"

namespace ronde::report {
namespace {

using Json = nlohmann::ordered_json;

// The only layer takes 60 ms a step for three passes of 1 GFLOP: 50 GFLOP/s on each of two ranks.
std::shared_ptr<Report> report_on(const MachineRates& node) {
  const tests::Folder folder;
  testing::generate(
      {.folder = folder.path(),
       .ranks = 2,
       .steps = 20,
       .shape = {.layers = 1, .buckets = 0},
       .metadata = {{"job", R"({"network": "net", "precision": "f32", "batch": 64, "device": "cpu", "settings": {}})"},
                    {"layers", R"([{"name": "layer1.0.conv", "operation": "conv2d", "flops": 1e9, "bytes": 1e6}])"},
                    {"machine rates", rates_to_json(node).dump()}}});
  return analyse({folder.path()}, {});
}

MachineRates node_of(double f32, double bf16) {
  return {.name = "made", .f32 = f32, .bf16 = bf16, .memory_gb_s = 100};
}

TEST(Computation, ALowOneIsNamedWithWhatToDo) {
  const auto report = report_on(node_of(0.3, 0.3));  // 150 GFLOP/s a rank
  const Json document = to_json(*report);
  const Json& tree = document["efficiency"]["tree"];
  EXPECT_EQ(tree["key"], "overall");
  EXPECT_EQ(tree["children"][0]["key"], "parallel");
  EXPECT_GT(tree["children"][0]["value"], 0.95);
  EXPECT_EQ(tree["children"][1]["key"], "computation");
  EXPECT_NEAR(tree["children"][1]["value"].get<double>(), 1.0 / 3, 1e-3);
  EXPECT_DOUBLE_EQ(tree["value"].get<double>(),
                   tree["children"][0]["value"].get<double>() * tree["children"][1]["value"].get<double>());
  EXPECT_EQ(document["efficiency"]["computation"], tree["children"][1]);
  EXPECT_EQ(document["state"], "fair");
  const auto verdict = document["verdict"].get<std::string>();
  EXPECT_NE(verdict.find("its layers compute at 33 % of what the machine allows: a larger batch"), std::string::npos)
      << verdict;
  EXPECT_EQ(verdict.find("nothing needs to be changed"), std::string::npos) << verdict;
  ASSERT_FALSE(document["advice"].empty());
  const Json& advice = document["advice"][0];
  EXPECT_EQ(advice["rule"], "computation");
  EXPECT_EQ(advice["setting"], "train.batch=128");
  EXPECT_NEAR(advice["gain"].get<double>(), (1 - 2.0 / 3) * 0.96, 0.02);  // of forward and backward
  const std::string text = text_report(*report, false);
  EXPECT_NE(text.find("computation"), std::string::npos) << text;
}

TEST(Computation, AHighOneNeedsNoChange) {
  const Json document = to_json(*report_on(node_of(0.125, 0.125)));  // 62.5 GFLOP/s a rank
  EXPECT_NEAR(document["efficiency"]["computation"]["value"].get<double>(), 0.8, 1e-3);
  EXPECT_EQ(document["state"], "good");
  EXPECT_TRUE(document["advice"].empty()) << document["advice"];
  const auto verdict = document["verdict"].get<std::string>();
  EXPECT_NE(verdict.find("nothing needs to be changed"), std::string::npos) << verdict;
}

TEST(Computation, IsNotKnownWithoutCeilings) {
  const Json document = to_json(*report_on(node_of(0, 0)));
  EXPECT_TRUE(document["efficiency"]["computation"].is_null());
  EXPECT_EQ(document["efficiency"]["tree"]["key"], "parallel");
}

TEST(Computation, AFasterPrecisionIsAdviceWithACeiling) {
  const Json document = to_json(*report_on(node_of(0.125, 0.5)));
  ASSERT_EQ(document["advice"].size(), 1U) << document["advice"];
  const Json& advice = document["advice"][0];
  EXPECT_EQ(advice["rule"], "precision");
  EXPECT_EQ(advice["setting"], "train.precision=bf16");
  const auto needed = document["efficiency"]["computation"]["value"].get<double>();  // of what its arithmetic takes
  EXPECT_NEAR(advice["gain"].get<double>(), 0.75 * 0.96 * needed, 0.02);
  EXPECT_NE(document["verdict"].get<std::string>().find("bf16 is faster"), std::string::npos);
}

// Steps of 62 ms, of which the host is busy nearly always.
Json document_with_device(std::int64_t kernels, std::int64_t in_collectives) {
  const tests::Folder folder;
  testing::generate(
      {.folder = folder.path(),
       .ranks = 2,
       .steps = 20,
       .shape = {.layers = 1, .buckets = 0, .kernels = kernels, .device_waits = in_collectives},
       .metadata = {{"job", R"({"network": "net", "precision": "f32", "batch": 64, "device": "H200"})"}}});
  return to_json(*analyse({folder.path()}, {}));
}

TEST(Devices, TheirsIsTheHeadline) {
  const Json document = document_with_device(40'000'000, 0);
  EXPECT_GT(document["efficiency"]["tree"]["value"], 0.95) << "the host is busy";
  const double device = document["efficiency"]["device"]["value"].get<double>();
  EXPECT_NEAR(device, 0.64, 0.02);
  EXPECT_NE(document["state"], "good");
  const auto verdict = document["verdict"].get<std::string>();
  EXPECT_TRUE(verdict.starts_with(
      fmt::format("Training reaches {:.0f} % of what the devices of these 2 ranks could do", 100 * device)))
      << verdict;
  for (const Json& advice : document["advice"]) EXPECT_LE(advice["gain"].get<double>(), 1 - device + 1e-9) << advice;
}

TEST(Devices, WhatTheyDoInCollectivesIsCommunication) {
  const Json document = document_with_device(40'000'000, 20'000'000);
  ASSERT_FALSE(document["advice"].empty());
  const Json& advice = document["advice"][0];
  EXPECT_EQ(advice["rule"], "communication");
  EXPECT_NEAR(advice["gain"].get<double>(), 20.0 / 62, 0.02);
  EXPECT_NE(document["verdict"].get<std::string>().find("data take their time between the devices"), std::string::npos);
}

TEST(Devices, TheirComputationStandsBesideTheirTree) {
  const tests::Folder folder;
  const MachineRates gpu{.name = "gpu", .kind = Hardware::Kind::Gpu, .f32 = 0.1, .memory_gb_s = 100};
  testing::generate(
      {.folder = folder.path(),
       .ranks = 2,
       .steps = 20,
       .shape = {.layers = 1, .buckets = 0, .kernels = 60'000'000},
       .metadata = {{"job", R"({"network": "net", "precision": "f32", "batch": 64, "device": "H200"})"},
                    {"layers", R"([{"name": "layer1.0.conv", "operation": "conv2d", "flops": 1e9, "bytes": 1e6}])"},
                    {"machine rates", rates_to_json(gpu).dump()}}});
  const Json document = to_json(*analyse({folder.path()}, {}));
  EXPECT_EQ(document["efficiency"]["tree"]["key"], "parallel") << "the host computes nothing";
  const Json& tree = document["efficiency"]["device"];
  EXPECT_EQ(tree["key"], "overall");
  EXPECT_EQ(tree["children"][0]["key"], "device");
  EXPECT_NEAR(tree["children"][1]["value"].get<double>(), 0.5, 0.01);
}

}  // namespace
}  // namespace ronde::report
