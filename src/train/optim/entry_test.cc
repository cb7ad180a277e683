#include "ronde/train/optim/entry.h"

#include <set>

#include <gtest/gtest.h>

#include "ronde/train/checkpoint/checkpoint_optimizer.h"
#include "ronde/train/optim/optimizer_names.h"
#include "ronde/train/optimizers.h"

namespace ronde::train {
namespace {

OptimizerChoice choice_of(std::string_view optimizer) {
  return {.name = std::string(optimizer), .lr = 0.05, .weight_decay = 0.1};
}

void take_steps(torch::nn::LinearImpl& network, torch::optim::Optimizer& optimizer, int steps) {
  for (int i = 0; i < steps; ++i) {
    optimizer.zero_grad();
    network.forward(torch::arange(12, torch::kFloat32).reshape({4, 3}).add(i)).square().sum().backward();
    optimizer.step();
  }
}

// Whatever is added to the registry is held to these.
TEST(OptimizerEntries, AreWhole) {
  std::set<std::string_view> names;
  for (const OptimizerEntry& entry : optimizer_entries()) {
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name << " is there twice";
    EXPECT_GT(entry.help.size(), 20u) << entry.name;
    ASSERT_NE(entry.make, nullptr) << entry.name;
    ASSERT_NE(entry.state, nullptr) << entry.name;
    const torch::nn::Linear network(3, 2);
    const auto made = make_optimizer(choice_of(entry.name), network->parameters());
    for (const OptimizerEntry& other : optimizer_entries())
      EXPECT_EQ(other.is(*made), other.name == entry.name) << entry.name << " and " << other.name;
    EXPECT_EQ(made->param_groups()[0].options().get_lr(), 0.05) << entry.name;
  }
}

TEST(OptimizerEntries, GoOnFromWhatACheckpointKept) {
  for (const OptimizerEntry& entry : optimizer_entries()) {
    const OptimizerChoice choice = choice_of(entry.name);
    torch::manual_seed(1);
    torch::nn::Linear first(3, 2), second(3, 2);
    const auto optimizer = make_optimizer(choice, first->parameters());
    take_steps(*first, *optimizer, 3);
    const auto kept = state_tensors(*optimizer, first->named_parameters());
    EXPECT_FALSE(kept.empty()) << entry.name;
    {
      const torch::NoGradGuard no_grad;
      second->weight.copy_(first->weight);
      second->bias.copy_(first->bias);
    }
    const auto resumed = make_optimizer(choice, second->parameters());
    restore_state(*resumed, second->named_parameters(), kept);
    take_steps(*first, *optimizer, 2);
    take_steps(*second, *resumed, 2);
    EXPECT_TRUE(torch::equal(first->weight, second->weight)) << entry.name;
    EXPECT_TRUE(torch::equal(first->bias, second->bias)) << entry.name;
  }
}

TEST(OptimizerEntries, AnUnknownNameIsToldWhatThereIs) {
  try {
    (void)find_optimizer("adamm");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::BadInput);
    EXPECT_EQ(error.message(),
              "optimizer.name is 'adamm': there is no such optimizer (did you mean adam?); there are sgd, adam, adamw, "
              "rmsprop, adagrad, lars, lamb");
  }
}

TEST(OptimizerEntries, SettingsNameTheirReaders) {
  EXPECT_EQ(optimizers_with("optimizer.beta2"), (std::vector<std::string>{"adam", "adamw", "lamb"}));
  EXPECT_EQ(optimizers_with("optimizer.weight_decay"), optimizer_names()) << "all read it";
}

}  // namespace
}  // namespace ronde::train
