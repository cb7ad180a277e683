// The same mathematics: n ranks with their shares of a batch give the weights of one rank with all of it.
#include "ronde/parallel/distributed_optimizer.h"

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/parallel/detail/test_training.h"

namespace ronde::parallel {
namespace {

using namespace tests;

template <class Optimizer, class Options>
MakeOptimizer maker(const Options& options) {
  return [options](const auto& parameters) { return std::make_unique<Optimizer>(parameters, options); };
}

struct NamedMaker {
  const char* name;
  MakeOptimizer make;
};
std::vector<NamedMaker> optimizers() {
  using namespace torch::optim;
  return {{"Sgd", maker<SGD>(SGDOptions(0.1))},
          {"SgdWithMomentum", maker<SGD>(SGDOptions(0.1).momentum(0.9).nesterov(true).weight_decay(1e-3))},
          {"Adam", maker<Adam>(AdamOptions(0.01))},
          {"AdamWithAmsgrad", maker<Adam>(AdamOptions(0.01).amsgrad(true))},
          {"AdamW", maker<AdamW>(AdamWOptions(0.01).weight_decay(0.1))},
          {"RmsProp", maker<RMSprop>(RMSpropOptions(0.01).momentum(0.5))},
          {"Adagrad", maker<Adagrad>(AdagradOptions(0.05))}};
}

class SameMathematics : public testing::TestWithParam<std::tuple<int, NamedMaker>> {};

TEST_P(SameMathematics, InDoublePrecision) {
  const auto& [ranks, optimizer] = GetParam();
  const Training training{.make_optimizer = optimizer.make};
  EXPECT_LT(distance(train(ranks, training), train(1, training)[0]), 1e-9);
}

INSTANTIATE_TEST_SUITE_P(All, SameMathematics,
                         testing::Combine(testing::Values(2, 3, 4), testing::ValuesIn(optimizers())),
                         [](const auto& tested) {
                           return fmt::format("{}Ranks{}", std::get<0>(tested.param), std::get<1>(tested.param).name);
                         });

class OnRanks : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(All, OnRanks, testing::Values(1, 2, 3, 4));

TEST_P(OnRanks, SinglePrecisionStaysCloseWithSgd) {
  const Training training{.type = torch::kFloat32};
  EXPECT_LT(distance(train(GetParam(), training), train(1, training)[0]), 1e-5);
}

TEST_P(OnRanks, TrainingChangesTheWeights) {  // what the other tests compare is not where it began
  Training training;
  const auto after = train(GetParam(), training)[0];
  training.steps = 0;
  EXPECT_GT(distance({after}, train(1, training)[0]), 0.05);
}

TEST_P(OnRanks, UnevenShares) {
  const Training training{.uneven = true};
  EXPECT_LT(distance(train(GetParam(), training), train(1, {})[0]), 1e-9);
}

TEST_P(OnRanks, Accumulation) {
  const Training training{.options = {.accumulate = 3}};
  EXPECT_LT(distance(train(GetParam(), training), train(1, {})[0]), 1e-9);
}

TEST_P(OnRanks, AfterTheBackwardPass) {
  const Training training{.options = {.overlap = false}};
  EXPECT_LT(distance(train(GetParam(), training), train(1, {})[0]), 1e-9);
}

TEST_P(OnRanks, WithoutAskingWhichGradientsAreThere) {
  const Training training{.options = {.always_all = true}};
  EXPECT_LT(distance(train(GetParam(), training), train(1, {})[0]), 1e-9);
}

TEST_P(OnRanks, Predivided) {
  const Training training{.options = {.predivide = 2.0}};
  EXPECT_LT(distance(train(GetParam(), training), train(1, {})[0]), 1e-9);
}

TEST_P(OnRanks, SumsAreAverages) {  // with a rate that many times smaller
  const Training training{.make_optimizer = plain_sgd(0.1 / GetParam()), .options = {.op = comm::ReduceOp::Sum}};
  EXPECT_LT(distance(train(GetParam(), training), train(1, {})[0]), 1e-9);
}

TEST_P(OnRanks, CompressedToHalfTheBytes) {
  for (const auto& [compression, tolerance] :
       {std::pair{comm::Compression::F16, 2e-3}, {comm::Compression::BF16, 2e-2}}) {
    const Training training{.type = torch::kFloat32, .options = {.compression = compression}};
    EXPECT_LT(distance(train(GetParam(), training), train(1, {.type = torch::kFloat32})[0]), tolerance);
  }
}

TEST_P(OnRanks, ClippedByTheGlobalNorm) {
  const Training training{.clip = 0.05};
  const auto clipped = train(GetParam(), training);
  EXPECT_LT(distance(clipped, train(1, training)[0]), 1e-9);
  EXPECT_GT(distance(clipped, train(1, {})[0]), 1e-3);
}

TEST_P(OnRanks, InGroupsOfTheUser) {
  for (const int count : {1, 2, 4}) {
    const Training training{.options = {.group_count = count}};
    EXPECT_LT(distance(train(GetParam(), training), train(1, {})[0]), 1e-9);
  }
}

TEST_P(OnRanks, AdasumKeepsRanksTogether) {
  const Training training{.options = {.op = comm::ReduceOp::Adasum}};
  const auto weights = train(GetParam(), training);
  EXPECT_TRUE(std::isfinite(distance(weights, weights[0])));
}

// A parameter is frozen in between, and another one joins.
TEST_P(OnRanks, ParametersThatChangeBetweenSteps) {
  Training training;
  training.before_step = [](int step, Network& network, torch::optim::Optimizer& optimizer) {
    auto parameters = network->parameters();
    parameters[0].requires_grad_(step < 3 || step >= 6);
    if (step == 4) {
      network->push_back(torch::nn::Linear(kClasses, kClasses));
      network->to(torch::kFloat64);
      parameters = network->parameters();
      std::vector<torch::Tensor> added(parameters.end() - 2, parameters.end());
      torch::NoGradGuard no_grad;
      for (auto& parameter : added) parameter.fill_(0.3);
      optimizer.add_param_group(torch::optim::OptimizerParamGroup(added));
    }
  };
  EXPECT_LT(distance(train(GetParam(), training), train(1, training)[0]), 1e-9);
}

}  // namespace
}  // namespace ronde::parallel
