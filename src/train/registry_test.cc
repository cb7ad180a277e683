#include "ronde/train/registry.h"

#include <gtest/gtest.h>

#include "ronde/base/error.h"

namespace ronde::train {
namespace {

template <class Body>
std::string failure(const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::BadInput);
    return error.message();
  }
  return "";
}

LossEntry loss(const std::string& name) {
  return {.name = name, .loss = [](const torch::Tensor& output, const torch::Tensor&) { return output.sum(1); }};
}

TEST(Registry, NamesAreTakenOnce) {
  const auto make = [](const models::ModelOptions&) -> std::shared_ptr<models::Network> { return nullptr; };
  const auto check = [](const Registry& registry) { return failure([&] { registry.check(); }); };
  EXPECT_EQ(check({}), "");
  EXPECT_EQ(check({.models = {{.names = {"mine"}, .make = make}}}), "");
  EXPECT_EQ(check({.models = {{.names = {"resnet50"}, .make = make}}}),
            "there are two entries for the model 'resnet50'");
  EXPECT_EQ(check({.models = {{.names = {"mine"}}}}), "the model 'mine' of the registry lacks its function");
  EXPECT_EQ(check({.datasets = {{.name = "mnist",
                                 .samples = [](const Settings&, data::Split) -> data::Dataset {
                                   return data::function(0, nullptr);
                                 }}}}),
            "there are two entries for the dataset 'mnist'");
  EXPECT_EQ(check({.losses = {loss("a"), loss("a")}}), "there are two entries for the loss 'a'");
  EXPECT_EQ(check({.losses = {loss("focal")}}), "there are two entries for the loss 'focal'");
  EXPECT_EQ(check({.optimizers = {{.name = "sgd", .help = ""}}}),
            "the optimizer 'sgd' of the registry lacks its function");
  EXPECT_EQ(check({.augmentations = {{}}}), "the registry has an entry (augmentation) without a name");
}

TEST(Registry, FindsLossesAndAugmentations) {
  const Registry registry{.losses = {loss("huber"), loss("mine")},
                          .augmentations = {{.name = "noise", .apply = [](auto&, auto&, auto&) {}}}};
  EXPECT_EQ(find_loss(registry, ""), nullptr);
  EXPECT_TRUE(find_augmentations(registry, "").empty());
  EXPECT_EQ(find_loss(registry, "mine")->name, "mine");
  EXPECT_EQ(find_augmentations(registry, "noise, noise").size(), 2u);
  EXPECT_EQ(find_loss(registry, "focal"), nullptr) << "built in";
  EXPECT_EQ(failure([&] { find_loss(registry, "hubert"); }),
            "train.loss is 'hubert': there is no such loss (did you mean huber?); there are focal, dice, dice-entropy, "
            "huber, mine, and those of plugins (--plugin FILE)");
}

}  // namespace
}  // namespace ronde::train
