#include "ronde/bench/training/train_bars.h"

#include <gtest/gtest.h>

namespace ronde::bench::detail {
namespace {

using Json = nlohmann::ordered_json;

const Bar* find(const std::vector<Bar>& bars, const std::string& key) {
  for (const Bar& bar : bars)
    if (bar.key == key) return &bar;
  return nullptr;
}

TEST(TrainBars, EachRowIsHeldToItsOwn) {
  const Json rows = {{{"model", "mlp-wide"}, {"batch", 32}, {"efficiency", 0.96}, {"efficiency_arena", 0.7}},
                     {{"model", "mlp-deep"}, {"batch", 32}, {"efficiency", 0.91}, {"efficiency_arena", 0.9}}};
  const auto bars = train_bars(rows);
  ASSERT_EQ(bars.size(), 4u);
  EXPECT_TRUE(find(bars, "mlp_wide_32_efficiency")->met());
  EXPECT_FALSE(find(bars, "mlp_wide_32_efficiency_arena")->met());
  EXPECT_FALSE(find(bars, "mlp_deep_32_efficiency")->met());
  EXPECT_TRUE(find(bars, "mlp_deep_32_efficiency_arena")->met());
}

TEST(TrainBars, PeersThatAreMissingPromiseNothing) {
  const Json rows = {
      {{"model", "mlp-wide"}, {"batch", 32}, {"ratio_ddp", 1.8}, {"ratio_ddp_kept", 1.2}, {"ratio_horovod", nullptr}},
      {{"model", "mlp-wide"}, {"batch", 128}, {"ratio_ddp", 1.2}}};
  const auto bars = train_bars(rows);
  ASSERT_EQ(bars.size(), 3u);
  EXPECT_EQ(find(bars, "mlp_wide_32_ratio_ddp")->bar, 1.7);
  EXPECT_EQ(find(bars, "mlp_wide_32_ratio_ddp_kept")->bar, 1.0);
  EXPECT_EQ(find(bars, "mlp_wide_128_ratio_ddp")->bar, 1.0);
}

TEST(TrainBars, TorchsDdpIsFasterOnOurBackend) {
  const Json rows = {
      {{"model", "mlp-wide"}, {"batch", 32}, {"ddp_over_ddp_ronde", 1.6}, {"ddp_over_ddp_ronde_plain", 1.3}},
      {{"model", "mlp-deep"}, {"batch", 32}, {"ddp_over_ddp_ronde", 1.6}},
      {{"model", "resnet18-cifar"}, {"batch", 32}, {"ddp_over_ddp_ronde", 0.99}}};
  const auto bars = train_bars(rows);
  ASSERT_EQ(bars.size(), 3u);
  EXPECT_EQ(find(bars, "mlp_wide_32_ddp_over_ddp_ronde")->bar, 1.5);
  EXPECT_EQ(find(bars, "mlp_wide_32_ddp_over_ddp_ronde_plain")->bar, 1.35);
  EXPECT_FALSE(find(bars, "resnet18_cifar_32_ddp_over_ddp_ronde")->met());
}

TEST(TrainBars, MemoryIsComparedWithoutABucket) {
  const Json rows = {{{"model", "mlp-wide"},
                      {"batch", 32},
                      {"fusion_bytes", 100},
                      {"pss_ours_bytes", 320},
                      {"pss_alone_arena_bytes", 200}}};
  const auto bars = train_bars(rows);
  ASSERT_EQ(bars.size(), 1u);
  EXPECT_DOUBLE_EQ(bars[0].value, 1.1);
  EXPECT_FALSE(bars[0].at_least);
}

TEST(TrainBars, OtherBatchesPromiseNothing) {
  EXPECT_TRUE(train_bars({{{"model", "mlp-wide"}, {"batch", 7}, {"efficiency", 0.1}}}).empty());
}

}  // namespace
}  // namespace ronde::bench::detail
