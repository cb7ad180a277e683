#include "ronde/train/optim/weight_average.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/models/model.h"

namespace ronde::train {
namespace {

std::shared_ptr<models::Network> network_with_norms() {
  torch::manual_seed(1);
  return models::make_model({.name = "resnet8", .filters = 4});
}

// As an optimizer and a forward pass would.
void change(torch::nn::Module& network) {
  const torch::NoGradGuard no_grad;
  for (const auto& [name, tensor] : models::state_of(network))
    if (torch::Tensor some = tensor; some.is_floating_point())
      some.add_(torch::randn_like(some));
    else
      some.add_(1);
}

TEST(WeightAverage, DecayRisesToWhatIsAskedFor) {
  EXPECT_DOUBLE_EQ(decay_at(0.999, 1), 2.0 / 11);
  EXPECT_DOUBLE_EQ(decay_at(0.999, 90), 91.0 / 100);
  EXPECT_DOUBLE_EQ(decay_at(0.999, 8990), 0.999) << "from here on";
  EXPECT_LT(decay_at(0.999, 8980), 0.999);
  EXPECT_DOUBLE_EQ(decay_at(0.999, 1'000'000), 0.999);
  EXPECT_DOUBLE_EQ(decay_at(0.1, 1), 0.1);
}

TEST(WeightAverage, IsWhatTheFormulaSays) {
  const auto network = network_with_norms();
  models::to_channels_last(*network);
  WeightAverage average(*network, 0.9);
  std::map<std::string, torch::Tensor> expected;
  for (const auto& [name, tensor] : models::state_of(*network)) expected[name] = tensor.detach().to(torch::kFloat64);
  for (std::int64_t step = 1; step <= 30; ++step) {
    change(*network);
    average.begin_step(step);
    average.add();
    const double decay = std::min(0.9, (1.0 + static_cast<double>(step)) / (10.0 + static_cast<double>(step)));
    for (const auto& [name, tensor] : models::state_of(*network))
      expected[name] = tensor.is_floating_point() ? decay * expected[name] + (1 - decay) * tensor.detach()
                                                  : tensor.to(torch::kFloat64);
  }
  ASSERT_EQ(average.tensors().size(), expected.size());
  for (const auto& [name, tensor] : average.tensors())
    EXPECT_LT((tensor - expected.at(name)).abs().max().item<double>(), 1e-5) << name;
  EXPECT_EQ(average.tensors().at("bn1.num_batches_tracked").item<std::int64_t>(), 30);
  EXPECT_TRUE(average.tensors().at("conv1.weight").is_contiguous(torch::MemoryFormat::ChannelsLast));
  EXPECT_FALSE(average.tensors().at("conv1.weight").requires_grad());
  EXPECT_EQ(average.of_parameters().size() + average.of_buffers().size(), expected.size());
}

TEST(WeightAverage, TakesThePlaceOfTheWeightsForAWhile) {
  const auto network = network_with_norms();
  WeightAverage average(*network, 0.9);
  const auto values = [&] {
    models::TensorMap all;
    for (const auto& [name, tensor] : models::state_of(*network)) all[name] = tensor.detach().clone();
    return all;
  };
  const auto start = values();
  change(*network);
  const auto weights = values();
  average.instead_of_weights([&] {
    for (const auto& [name, tensor] : models::state_of(*network)) EXPECT_TRUE(tensor.equal(start.at(name))) << name;
  });
  for (const auto& [name, tensor] : models::state_of(*network)) EXPECT_TRUE(tensor.equal(weights.at(name))) << name;
  for (const auto& [name, tensor] : average.tensors()) EXPECT_TRUE(tensor.equal(start.at(name))) << name;
  average.restart();
  for (const auto& [name, tensor] : average.tensors()) EXPECT_TRUE(tensor.equal(weights.at(name))) << name;
}

TEST(WeightAverage, RefusesThatOfAnotherNetwork) {
  const auto network = network_with_norms();
  WeightAverage average(*network, 0.9);
  models::TensorMap other = average.tensors();
  other.erase("fc.bias");
  try {
    average.restore(other, "a checkpoint");
    ADD_FAILURE() << "it was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "a checkpoint does not match this model: of its tensors, 1 is missing (fc.bias)");
  }
}

}  // namespace
}  // namespace ronde::train
