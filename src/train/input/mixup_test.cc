#include "ronde/train/input/mixup.h"

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/data/augment/mixup.h"
#include "ronde/models/loss.h"

namespace ronde::train {
namespace {

TEST(Mixup, MixesNeighboursAndTheirClassesByOneShare) {
  const Samples plain{torch::arange(8, torch::kFloat32).view({4, 2}), torch::tensor({0, 2, 1, 1}, torch::kInt64)};
  const Samples both = mixed(plain, 0.4, 7, 3, 10, 3);
  for (std::int64_t i = 0; i < 4; ++i) {
    const auto share = static_cast<float>(data::mixup_share(7, 3, (10 + i) / 2, 0.4));
    EXPECT_TRUE(torch::allclose(both.inputs[i], plain.inputs[i] * share + plain.inputs[i ^ 1] * (1 - share)));
    torch::Tensor wanted = torch::zeros({3});
    wanted[plain.targets[i].item<std::int64_t>()] += share;
    wanted[plain.targets[i ^ 1].item<std::int64_t>()] += 1 - share;
    EXPECT_TRUE(torch::allclose(both.targets[i], wanted));
  }
}

TEST(Mixup, IsTheSameForAnyNumberOfRanks) {
  torch::manual_seed(1);
  const Samples whole{torch::randn({8, 3}), torch::randint(0, 4, {8}, torch::kInt64)};
  const Samples all = mixed(whole, 0.3, 1, 0, 16, 4);
  const Samples second{whole.inputs.slice(0, 4), whole.targets.slice(0, 4)};
  const Samples part = mixed(second, 0.3, 1, 0, 20, 4);
  EXPECT_TRUE(torch::equal(part.inputs, all.inputs.slice(0, 4)));
  EXPECT_TRUE(torch::equal(part.targets, all.targets.slice(0, 4)));
}

TEST(Mixup, LossOfAMixtureIsTheMixtureOfLosses) {
  torch::manual_seed(2);
  const auto loss = models::make_loss({.sum = true});
  const torch::Tensor output = torch::randn({1, 5}), target = torch::zeros({1, 5});
  target[0][1] = 0.3;
  target[0][4] = 0.7;
  const double expected = 0.3 * loss(output, torch::tensor({1}, torch::kInt64)).item<double>() +
                          0.7 * loss(output, torch::tensor({4}, torch::kInt64)).item<double>();
  EXPECT_NEAR(loss(output, target).item<double>(), expected, 1e-6);
}

TEST(Mixup, RefusesWhatCannotBePaired) {
  TrainingOptions options;
  EXPECT_EQ(mixup_of(options, data::Target::Labels, 12, 3), 0);
  options.data.mixup = 0.2;
  EXPECT_EQ(mixup_of(options, data::Target::Class, 12, 3), 0.2);
  EXPECT_THROW(mixup_of(options, data::Target::Class, 12, 4), Error);
  EXPECT_THROW(mixup_of(options, data::Target::Mask, 12, 1), Error);
}

}  // namespace
}  // namespace ronde::train
