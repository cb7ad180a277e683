// What is measured of gradients, and training without an exchange of them.
#include <cmath>

#include <gtest/gtest.h>

#include "ronde/parallel/detail/test_training.h"

namespace ronde::parallel {
namespace {

using namespace tests;
using torch::Tensor;

// Two tensors, one of them with a layout of its own, of which rank r makes the gradients r + 1 and 10 (r + 1).
struct Fixture {
  explicit Fixture(comm::Engine& engine, DistributedOptions options = {})
      : optimizer(sgd, {{"a", a}, {"b", b}}, engine.world(), std::move(options)) {}
  Tensor loss(double times) const { return (a.sum() + 10 * b.sum()) * times; }

  Tensor a = torch::zeros({5}, torch::kFloat64).requires_grad_();
  Tensor b = torch::zeros({2, 3, 4, 4}, torch::kFloat64).contiguous(torch::MemoryFormat::ChannelsLast).requires_grad_();
  torch::optim::SGD sgd{{a, b}, torch::optim::SGDOptions(1.0)};
  DistributedOptimizer optimizer;
};
constexpr double kSquare = 5 + 96 * 100.0;  // of the gradient of loss(1)

TEST(GradientNorms, OfOwnAndReducedGradients) {
  for (const bool overlap : {false, true})
    comm::run_ranks(3, [overlap](comm::Engine& engine) {
      Fixture f(engine, {.overlap = overlap});
      for (int step = 0; step < 4; ++step) {
        const bool measured = step % 2 == 1;
        f.optimizer.zero_grad();
        f.optimizer.measure_gradients(measured);
        f.loss(engine.rank() + 1).backward();
        if (measured) {
          const GradientNorms norms = f.optimizer.gradient_norms();
          EXPECT_DOUBLE_EQ(norms.local, std::pow(engine.rank() + 1, 2) * kSquare);
          EXPECT_NEAR(average(norms.reduced, engine.world()) * 3, 4 * kSquare, 1e-9);
        }
        f.optimizer.step();
      }
    });
}

TEST(GradientNorms, OfAllPassesOfAStep) {
  comm::run_ranks(2, [](comm::Engine& engine) {
    Fixture f(engine, {.accumulate = 2});
    f.optimizer.measure_gradients(true);
    f.loss(1).backward();
    f.loss(2).backward();
    EXPECT_DOUBLE_EQ(f.optimizer.gradient_norms().local, 9 * kSquare);
  });
}

TEST(GradientNorms, OfTheFirstPassWhereThereIsOneRank) {
  comm::run_ranks(1, [](comm::Engine& engine) {
    Fixture f(engine, {.accumulate = 2});
    f.optimizer.measure_gradients(true);
    f.loss(1).backward();
    f.loss(2).backward();
    const GradientNorms norms = f.optimizer.gradient_norms();
    EXPECT_DOUBLE_EQ(norms.local, kSquare);
    EXPECT_DOUBLE_EQ(norms.reduced, 9 * kSquare);
  });
}

// What some rank does not have counts as zero there.
TEST(GradientNorms, OfGradientsThatSomeRanksLack) {
  comm::run_ranks(2, [](comm::Engine& engine) {
    Fixture f(engine);
    f.optimizer.measure_gradients(true);
    if (engine.rank() == 0) f.loss(2).backward();
    if (engine.rank() == 1) f.a.sum().backward();
    const GradientNorms norms = f.optimizer.gradient_norms();
    EXPECT_DOUBLE_EQ(norms.local, engine.rank() == 0 ? 4 * kSquare : 5);
    f.optimizer.step();
  });
}

TEST(GradientNorms, OfSingleAndHalfPrecision) {
  comm::run_ranks(1, [](comm::Engine& engine) {
    for (const auto type : {torch::kFloat32, torch::kBFloat16}) {
      Tensor w = torch::zeros({1000}, type).requires_grad_();
      torch::optim::SGD sgd({w}, torch::optim::SGDOptions(1.0));
      DistributedOptimizer optimizer(sgd, {{"w", w}}, engine.world());
      optimizer.measure_gradients(true);
      (w.sum() * 300).backward();
      EXPECT_DOUBLE_EQ(optimizer.gradient_norms().local,
                       w.grad()[0].item<double>() * w.grad()[0].item<double>() * 1000);
    }
  });
}

// Plain SGD: to average weights after each step is to average gradients before it. Shares may be uneven.
TEST(LocalTraining, AveragedAfterEachStepIsPlainTraining) {
  for (const int ranks : {2, 3, 4}) {
    std::vector<Tensor> found(static_cast<std::size_t>(ranks));
    const Samples samples(torch::kFloat64);
    comm::run_ranks(ranks, [&](comm::Engine& engine) {
      torch::set_num_threads(1);
      auto network = small_network(torch::kFloat64);
      broadcast_parameters(*network, engine.world());
      torch::optim::SGD sgd(network->parameters(), torch::optim::SGDOptions(0.1));
      DistributedOptimizer optimizer(sgd, named(*network), engine.world(), {.local = true});
      const auto [begin, end] = share_of(kSamples, engine.rank(), ranks, true);
      for (int step = 0; step < 10; ++step) {
        optimizer.zero_grad();
        const auto loss = torch::cross_entropy_loss(network->forward(samples.inputs.slice(0, begin, end)),
                                                    samples.labels.slice(0, begin, end), {}, at::Reduction::Sum);
        (loss * (static_cast<double>(ranks) / kSamples)).backward();
        optimizer.step();
        average_tensors(named(*network), engine.world());
      }
      std::vector<Tensor> flat;
      for (const auto& parameter : network->parameters()) flat.push_back(parameter.detach().flatten());
      found[static_cast<std::size_t>(engine.rank())] = torch::cat(flat);
    });
    EXPECT_LT(distance(found, train(1, {})[0]), 1e-13);
    EXPECT_LT(distance(found, train(ranks, {.uneven = true})[0]), 1e-13);
  }
}

TEST(LocalTraining, RanksGoTheirOwnWaysInBetween) {
  comm::run_ranks(2, [](comm::Engine& engine) {
    Fixture f(engine, {.local = true});
    for (int step = 1; step <= 3; ++step) {
      f.optimizer.zero_grad();
      f.loss(engine.rank() + 1).backward();
      f.optimizer.step();
      EXPECT_DOUBLE_EQ(f.a[0].item<double>(), -step * (engine.rank() + 1.0));
    }
    average_tensors({{"a", f.a}, {"b", f.b}}, engine.world());
    EXPECT_TRUE(f.a.equal(torch::full({5}, -4.5, torch::kFloat64)));
    EXPECT_TRUE(f.b.equal(torch::full({2, 3, 4, 4}, -45.0, torch::kFloat64)));
    EXPECT_TRUE(f.b.is_contiguous(torch::MemoryFormat::ChannelsLast));
  });
}

}  // namespace
}  // namespace ronde::parallel
