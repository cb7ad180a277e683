#include "ronde/models/costs.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "ronde/models/model.h"

namespace ronde::models {
namespace {

const LayerCost& find(const std::vector<LayerCost>& all, const std::string& name) {
  const auto at = std::ranges::find(all, name, &LayerCost::name);
  if (at == all.end()) throw std::runtime_error("no layer " + name);
  return *at;
}

std::int64_t products(const std::vector<LayerCost>& all) {
  std::int64_t flops = 0;
  for (const LayerCost& cost : all)
    if (cost.operation == "conv2d" || cost.operation == "linear") flops += cost.flops;
  return flops;
}

TEST(Costs, ResNetsAreAsPublished) {
  const ModelOptions options{.name = "resnet50", .classes = 1000, .height = 224, .width = 224};
  const auto network = make_model(options);
  const auto all = costs(*network, {3, 224, 224});
  EXPECT_EQ(products(all), 2 * 4'089'184'256);  // 4.09 billion multiply-adds
  EXPECT_EQ(total(all).parameters, 25'557'032);
  const auto small = make_model({.name = "resnet20"});
  EXPECT_EQ(products(costs(*small, {3, 32, 32})), 2 * 40'551'040);  // 40.55 million
}

TEST(Costs, OneConvolutionByHand) {
  const auto network = make_model({.name = "resnet18", .classes = 1000, .height = 224, .width = 224});
  const auto all = costs(*network, {3, 224, 224}, 8);
  const LayerCost& conv = find(all, "conv1");
  EXPECT_EQ(conv.operation, "conv2d");
  EXPECT_EQ(conv.output, (std::vector<std::int64_t>{64, 112, 112}));
  EXPECT_EQ(conv.parameters, 64 * 3 * 49);
  EXPECT_EQ(conv.flops, 8LL * 2 * 64 * 112 * 112 * 3 * 49);
  EXPECT_EQ(conv.activation_bytes, 8LL * 64 * 112 * 112 * 4);
  EXPECT_EQ(conv.bytes, 8LL * 64 * 112 * 112 * 4 + 8LL * 3 * 224 * 224 * 4 + 64LL * 3 * 49 * 4);
  const LayerCost& relu = find(all, "layer1.0.relu_");  // in place: no memory of its own
  EXPECT_EQ(relu.activation_bytes, 0);
  EXPECT_EQ(relu.flops, 8LL * 64 * 56 * 56);
}

TEST(Costs, EveryParameterCountsOnceInEveryModel) {
  for (const std::string& name : model_names()) {
    if (name == "resnet101" || name == "resnet152") continue;  // slow
    const auto network = make_model({.name = name});
    const auto all = costs(*network, {3, 32, 32});
    EXPECT_EQ(total(all).parameters, count_parameters(*network)) << name;
    EXPECT_TRUE(network->is_training()) << name;
    for (const LayerCost& cost : all) EXPECT_GT(cost.bytes, 0) << name << " " << cost.name;
  }
}

TEST(Costs, LstmAndAttentionByHand) {
  const auto lstm = make_model({.name = "lstm", .channels = 1, .height = 28, .width = 28});
  const std::int64_t weights = 4 * 128 * (28 + 128) + 4 * 128 * (128 + 128);
  EXPECT_EQ(find(costs(*lstm, {1, 28, 28}, 3), "lstm").flops, 3 * 2 * 28 * weights);

  const auto transformer = make_model({.name = "transformer"});
  const auto all = costs(*transformer, {3, 32, 32});
  const auto attention = std::ranges::find(all, "scaled_dot_product_attention", &LayerCost::operation);
  ASSERT_NE(attention, all.end());
  EXPECT_EQ(attention->flops, 2 * 4 * 65 * 65 * (32 + 32));  // heads, tokens, tokens
  EXPECT_EQ(find(all, "blocks.5.mlp.fc1").flops, 2 * 65 * 128 * 512);
}

TEST(Costs, TransposedConvolutionByHand) {
  const auto network = make_model({.name = "unet", .classes = 2});
  const LayerCost cost = find(costs(*network, {3, 32, 32}), "enlarge4");
  EXPECT_EQ(cost.operation, "conv_transpose2d");
  EXPECT_EQ(cost.flops, 2 * 128 * 64 * 32 * 32);  // each output pixel meets one of the four weights
}

TEST(Costs, TableHasALineForEachAndTheTotal) {
  const auto network = make_model({.name = "mlp", .channels = 1, .height = 28, .width = 28});
  const std::string table = cost_table(costs(*network, {1, 28, 28}, 32));
  EXPECT_NE(table.find("fc1"), std::string::npos);
  EXPECT_NE(table.find("total"), std::string::npos);
  EXPECT_NE(table.find("669706"), std::string::npos);
  EXPECT_EQ(std::ranges::count(table, '\n'), 1 + 5 + 1);
}

}  // namespace
}  // namespace ronde::models
