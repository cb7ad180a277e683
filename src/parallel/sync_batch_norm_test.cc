#include "ronde/parallel/sync_batch_norm.h"

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/parallel/detail/test_training.h"

namespace ronde::parallel {
namespace {

using namespace tests;
using torch::Tensor;

class SyncBatchNorms : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(All, SyncBatchNorms, testing::Values(1, 2, 3, 4));

// Forward, backward and running moments against torch's own batch norm over the whole batch.
TEST_P(SyncBatchNorms, EqualOneOverTheWholeBatch) {
  const Tensor whole = with_seed(5, [] { return torch::randn({7, 3, 4, 4}, torch::kFloat64) * 2 + 30; });
  const Tensor upstream = with_seed(6, [] { return torch::randn({7, 3, 4, 4}, torch::kFloat64); });
  torch::nn::BatchNorm2d reference(3);
  reference->to(torch::kFloat64);
  Tensor input = whole.clone().requires_grad_();
  const Tensor expected = reference->forward(input);
  (expected * upstream).sum().backward();

  comm::run_ranks(GetParam(), [&](comm::Engine& engine) {
    SyncBatchNorm norm(3, engine.world());
    norm->to(torch::kFloat64);
    const auto [begin, end] = share_of(7, engine.rank(), engine.size(), true);
    Tensor mine = whole.slice(0, begin, end).clone().requires_grad_();
    const Tensor output = norm->forward(mine);
    (output * upstream.slice(0, begin, end)).sum().backward();
    EXPECT_TRUE(torch::allclose(output, expected.slice(0, begin, end), 1e-10, 1e-10));
    EXPECT_TRUE(torch::allclose(mine.grad(), input.grad().slice(0, begin, end), 1e-10, 1e-10));
    EXPECT_TRUE(torch::allclose(norm->running_mean, reference->running_mean, 1e-10, 1e-10));
    EXPECT_TRUE(torch::allclose(norm->running_var, reference->running_var, 1e-10, 1e-10));
    EXPECT_EQ(norm->num_batches_tracked.item<int>(), 1);
    Tensor by_weight = norm->weight.grad().clone(), by_bias = norm->bias.grad().clone();
    const double ranks = engine.size();  // sums over ranks are the whole batch's
    EXPECT_TRUE(torch::allclose(average(by_weight, engine.world()) * ranks, reference->weight.grad(), 1e-10, 1e-10));
    EXPECT_TRUE(torch::allclose(average(by_bias, engine.world()) * ranks, reference->bias.grad(), 1e-10, 1e-10));
  });
}

TEST_P(SyncBatchNorms, TrainAsOneRankWould) {
  Training training{.uneven = true};
  training.make_network = [](comm::Engine& engine) {
    return with_seed(3, [&] {
      Network network(torch::nn::Linear(kInputs, 16), SyncBatchNorm(16, engine.world()), torch::nn::Tanh(),
                      torch::nn::Linear(16, kClasses));
      network->to(torch::kFloat64);
      return network;
    });
  };
  EXPECT_LT(distance(train(GetParam(), training), train(1, training)[0]), 1e-9);
}

TEST(SyncBatchNorm, KnowsEmptySharesAndTooFewValues) {
  comm::run_ranks(2, [](comm::Engine& engine) {
    SyncBatchNorm norm(2, engine.world());
    const Tensor mine = engine.rank() == 0 ? torch::tensor({{1.0F, 2.0F}, {3.0F, 6.0F}}) : torch::empty({0, 2});
    const Tensor output = norm->forward(mine);
    if (engine.rank() == 0) {
      EXPECT_TRUE(torch::allclose(output, torch::tensor({{-1.0F, -1.0F}, {1.0F, 1.0F}}), 1e-4, 1e-4));
    }
    EXPECT_THROW(norm->forward(engine.rank() == 0 ? torch::ones({1, 2}) : torch::empty({0, 2})), Error);
  });
}

// 1,001 is no number of bf16.
TEST(SyncBatchNorm, SumsOfShortTypesAreExact) {
  comm::run_ranks(2, [](comm::Engine& engine) {
    SyncBatchNorm norm(2, engine.world());
    const Tensor input = torch::randn({1001, 2}).to(torch::kBFloat16).requires_grad_();
    const Tensor output = norm->forward(input);
    EXPECT_EQ(output.scalar_type(), torch::kBFloat16);
    output.sum().backward();
    EXPECT_EQ(norm->bias.grad()[0].item<float>(), 1001);
    EXPECT_EQ(input.grad().scalar_type(), torch::kBFloat16);
  });
}

TEST(SyncBatchNorm, TellsNobodyInEvaluation) {
  comm::run_ranks(2, [](comm::Engine& engine) {
    SyncBatchNorm norm(2, engine.world());
    norm->eval();
    if (engine.rank() == 0) {
      EXPECT_TRUE(torch::allclose(norm->forward(torch::ones({1, 2})), torch::ones({1, 2}), 1e-4));
    }
  });
}

}  // namespace
}  // namespace ronde::parallel
