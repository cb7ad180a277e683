#include "ronde/train/checkpoint/checkpoint_optimizer.h"

#include <functional>
#include <memory>

#include <gtest/gtest.h>

#include "ronde/base/testing/folder.h"
#include "ronde/train/checkpoint_testing.h"
#include "ronde/train/optim/lamb.h"
#include "ronde/train/optim/lars.h"

namespace ronde::train {
namespace {

using models::TensorMap;
using torch::optim::Optimizer;
using Maker = std::function<std::unique_ptr<Optimizer>(std::vector<torch::Tensor>)>;

struct Kind {
  const char* name;
  Maker make;
};

template <class Optim, class Options>
Maker maker(Options options) {
  return [options](std::vector<torch::Tensor> parameters) {
    return std::make_unique<Optim>(std::move(parameters), options);
  };
}

std::vector<Kind> kinds() {
  using namespace torch::optim;
  return {
      {"SGD", maker<SGD>(SGDOptions(0.001))},
      {"SGD with momentum", maker<SGD>(SGDOptions(0.001).momentum(0.9).nesterov(true))},
      {"Adam", maker<Adam>(AdamOptions(0.01))},
      {"Adam with amsgrad", maker<Adam>(AdamOptions(0.01).amsgrad(true))},
      {"AdamW", maker<AdamW>(AdamWOptions(0.01))},
      {"RMSprop", maker<RMSprop>(RMSpropOptions(0.01))},
      {"RMSprop, centered, with momentum", maker<RMSprop>(RMSpropOptions(0.01).centered(true).momentum(0.9))},
      {"Adagrad", maker<Adagrad>(AdagradOptions(0.1))},
      {"Lars", maker<Lars>(LarsOptions(0.5).weight_decay(1e-3))},
      {"Lars as published, Nesterov", maker<Lars>(LarsOptions(0.5).correct(false).nesterov(true))},
      {"Lars without momentum", maker<Lars>(LarsOptions(0.5).momentum(0))},
      {"Lamb", maker<Lamb>(LambOptions(0.01).weight_decay(0.01))},
  };
}

torch::nn::Sequential network() {
  torch::manual_seed(5);
  torch::nn::Sequential made(torch::nn::Conv2d(3, 4, 3), torch::nn::Flatten(), torch::nn::Linear(4 * 36, 2));
  made->parameters()[0].set_data(made->parameters()[0].contiguous(torch::MemoryFormat::ChannelsLast));
  return made;
}

void train(torch::nn::Sequential& net, Optimizer& optimizer, int from, int to) {
  for (int step = from; step < to; ++step) {
    torch::manual_seed(step);
    optimizer.zero_grad();
    net->forward(torch::randn({4, 3, 8, 8})).square().mean().backward();
    optimizer.step();
  }
}

TEST(OptimizerState, TrainingGoesOnBitForBit) {
  const ronde::tests::Folder folder;
  for (const Kind& kind : kinds()) {
    auto straight = network(), stopped = network(), resumed = network();
    const auto one = kind.make(straight->parameters());
    train(straight, *one, 0, 10);
    const auto two = kind.make(stopped->parameters());
    train(stopped, *two, 0, 6);
    const auto path = save_checkpoint({.folder = folder.path(), .keep = 1},
                                      {.info = {.step = 6},
                                       .model = models::state_of(*stopped),
                                       .optimizer = state_tensors(*two, stopped->named_parameters())});
    const Checkpoint checkpoint = load_checkpoint(path);
    models::copy_values(checkpoint.model, models::state_of(*resumed), "test");
    const auto three = kind.make(resumed->parameters());
    restore_state(*three, resumed->named_parameters(), checkpoint.optimizer);
    train(resumed, *three, 6, 10);
    const TensorMap state = models::state_of(*resumed);
    for (const auto& [name, tensor] : models::state_of(*straight)) {
      EXPECT_TRUE(tensor.isfinite().all().item<bool>()) << kind.name << " " << name;
      EXPECT_TRUE(tensor.equal(state.at(name))) << kind.name << " " << name;
    }
  }
}

TEST(OptimizerState, HasNamesAndFollowsTheLayout) {
  auto net = network();
  torch::optim::Adam adam(net->parameters());
  EXPECT_TRUE(state_tensors(adam, net->named_parameters()).empty());  // no step yet
  train(net, adam, 0, 2);
  TensorMap state = state_tensors(adam, net->named_parameters());
  EXPECT_EQ(state.size(), 12u);
  EXPECT_EQ(state.at("0.weight/step").item<int>(), 2);
  for (auto& [name, tensor] : state) tensor = tensor.contiguous().clone();
  restore_state(adam, net->named_parameters(), state);
  const auto back = state_tensors(adam, net->named_parameters());
  EXPECT_TRUE(back.at("0.weight/exp_avg").is_contiguous(torch::MemoryFormat::ChannelsLast));
  EXPECT_FALSE(back.at("0.weight/exp_avg").requires_grad());
  EXPECT_NE(back.at("0.weight/exp_avg").data_ptr(), state.at("0.weight/exp_avg").data_ptr());
}

TEST(OptimizerState, ThatDoesNotFitIsRefused) {
  auto net = network();
  torch::optim::Adam adam(net->parameters());
  train(net, adam, 0, 1);
  const TensorMap good = state_tensors(adam, net->named_parameters());
  const auto wrong = [&](const TensorMap& state, Optimizer& optimizer) {
    return tests::failure([&] { restore_state(optimizer, net->named_parameters(), state, "checkpoint x"); });
  };
  TensorMap state = good;
  state["0.weight/exp_avg"] = torch::ones({5});
  EXPECT_EQ(wrong(state, adam),
            "checkpoint x does not match this optimizer: of its tensors, 1 has another shape (0.weight/exp_avg [5] "
            "instead of [4, 3, 3, 3])");
  state = good;
  state.erase("2.bias/exp_avg");
  EXPECT_EQ(wrong(state, adam),
            "checkpoint x does not match this optimizer: of its tensors, 1 is missing (2.bias/exp_avg)");
  torch::optim::SGD sgd(net->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
  EXPECT_EQ(wrong(good, sgd),
            "checkpoint x does not match this optimizer: of its tensors, 12 are unknown (0.bias/exp_avg, "
            "0.bias/exp_avg_sq, 0.bias/step, 0.weight/exp_avg, and 8 more)");
  const TensorMap after = state_tensors(adam, net->named_parameters());
  for (const auto& [name, tensor] : good) EXPECT_TRUE(tensor.equal(after.at(name))) << name;
}

TEST(OptimizerState, OfOthersIsRefused) {
  auto net = network();
  torch::optim::LBFGS lbfgs(net->parameters());
  EXPECT_EQ(tests::failure([&] { state_tensors(lbfgs, net->named_parameters()); }),
            "cannot save the state of this optimizer; supported are sgd, adam, adamw, rmsprop, adagrad, lars, lamb");
  torch::optim::SGD foreign(std::vector<torch::Tensor>{torch::ones({3})}, 0.1);
  EXPECT_EQ(tests::failure([&] { state_tensors(foreign, net->named_parameters()); }),
            "parameter 1 of the optimizer, of shape [3], does not belong to this model");
}

}  // namespace
}  // namespace ronde::train
