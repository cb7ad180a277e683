#include "ronde/train/session/trace_facts.h"
#include "ronde/base/settings/settings.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace ronde::train {
namespace {

using nlohmann::json;

TEST(TraceFacts, TellWhatAJobIsAndWhatIsNotAsUsual) {
  const std::vector<Settings::Flag> flags = {{"train.batch", "512"}, {"comm.fusion_bytes", "8MiB"}};
  const Settings settings =
      Settings::load(Environment{}, flags, {.text = "[model]\nname = \"lenet\"\n", .name = "recipe tiny"});
  const json job = json::parse(job_text(settings, {.hardware = {.cpu = {.name = "A \"fast\" one", .flags = {}}},
                                                   .parameters = 61706,
                                                   .samples = 20000,
                                                   .threads = 3}));
  EXPECT_EQ(job["recipe"], "tiny");
  EXPECT_EQ(job["network"], "lenet");
  EXPECT_EQ(job["data"], "glyphs");
  EXPECT_EQ(job["precision"], "f32");
  EXPECT_EQ(job["device"], "cpu");
  EXPECT_EQ(job["processor"], "A \"fast\" one");
  EXPECT_EQ(job["batch"], 512);
  EXPECT_EQ(job["parameters"], 61706);
  EXPECT_EQ(job["threads"], 3);
  EXPECT_FALSE(job.contains("cores")) << "not known";
  EXPECT_EQ(job["settings"], (json{{"comm.fusion_bytes", "8MiB"}, {"model.name", "lenet"}, {"train.batch", "512"}}));
  const HardwareFacts with_gpu{.cpu = {}, .gpu = GpuFacts{.name = "H200"}};
  EXPECT_EQ(json::parse(job_text(Settings(), {.hardware = with_gpu}))["device"], "H200");
}

TEST(TraceFacts, TellTheCostsOfLayers) {
  const std::vector<models::LayerCost> layers = {
      {.name = "conv1", .operation = "conv2d", .parameters = 10, .flops = 2000, .bytes = 300},
      {.name = "relu", .operation = "relu", .flops = 50, .bytes = 40}};
  const json told = json::parse(layers_text(layers));
  ASSERT_EQ(told.size(), 2U);
  EXPECT_EQ(told[0],
            (json{{"name", "conv1"}, {"operation", "conv2d"}, {"flops", 2000}, {"bytes", 300}, {"parameters", 10}}));
  EXPECT_EQ(json::parse(layers_text({})), json::array());
}

TEST(TraceFacts, TellWhatStagesOfTheInputDid) {
  using namespace std::chrono_literals;
  data::StageStats stage;
  stage.name = "decode";
  stage.threads = 2;
  stage.busy = 1500ms;
  stage.input = 250ms;
  stage.room = 1s;
  stage.samples = 640;
  stage.bytes = 1 << 20;
  const json told = json::parse(stages_text({stage}, 3));
  ASSERT_EQ(told.size(), 2U);
  EXPECT_EQ(told[0], (json{{"name", "decode"},
                           {"busy_s", 1.5},
                           {"waiting_input_s", 0.25},
                           {"waiting_room_s", 1.0},
                           {"items", 640},
                           {"bytes", 1 << 20},
                           {"threads", 2}}));
  EXPECT_EQ(told[1], (json{{"skipped", 3}}));
}

TEST(TraceFacts, TellWhereARankIs) {
  EXPECT_EQ(json::parse(rank_text({.bound = "0-3", .local_rank = 1, .memory_limit_bytes = 1 << 30, .clock_ghz = 2.5})),
            (json{{"bound", "0-3"}, {"local_rank", 1}, {"memory_limit_bytes", 1 << 30}, {"clock_ghz", 2.5}}));
  EXPECT_EQ(json::parse(rank_text({.device_memory_bytes = 1 << 30})).at("device_memory_bytes"), 1 << 30);
}

}  // namespace
}  // namespace ronde::train
