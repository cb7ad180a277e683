#include "ronde/parallel/detail/recorded_round.h"

#include <thread>

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/parallel/detail/test_training.h"
#include "ronde/parallel/tensor_buffer.h"

namespace ronde::parallel {
namespace {

using Buckets = std::vector<std::vector<std::size_t>>;
using detail::cut_into_buckets;
using namespace tests;

TEST(CutIntoBuckets, TheLastComeFirst) {
  EXPECT_EQ(cut_into_buckets({{10}, {20}, {30}, {40}}, 60), (Buckets{{3}, {2, 1, 0}}));
  EXPECT_EQ(cut_into_buckets({{10}, {20}, {30}, {40}}, 1000), (Buckets{{3, 2, 1, 0}}));
  EXPECT_EQ(cut_into_buckets({}, 60), Buckets{});
}

TEST(CutIntoBuckets, WhatIsLargerThanAllGoesAlone) {
  EXPECT_EQ(cut_into_buckets({{10}, {100}, {10}}, 60), (Buckets{{2}, {1}, {0}}));
}

TEST(CutIntoBuckets, TypesDoNotMix) {
  EXPECT_EQ(cut_into_buckets({{10}, {10, torch::kFloat64}, {10}, {10}}, 60), (Buckets{{3, 2}, {1}, {0}}));
}

// As a recorded step does it, with the engine's collectives in the place of a stream's.
class Recorded : public testing::TestWithParam<int> {
 protected:
  struct Rank {
    explicit Rank(comm::Engine& engine, int backward_passes = 1)
        : group(engine.world()),
          network(small_network(torch::kFloat64)),
          sgd(network->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9)),
          optimizer(sgd, named(*network), group, {.accumulate = backward_passes}),
          passes(backward_passes) {}

    ReduceBucket by_engine() {
      return [this](std::size_t number, const std::vector<torch::Tensor>& gradients, const device::Event& made) {
        EXPECT_EQ(number, 0u);
        EXPECT_TRUE(made.ready());
        callers.push_back(std::this_thread::get_id());
        for (const torch::Tensor& gradient : gradients)
          group.run({.name = "some", .input = buffer_of(gradient), .op = comm::ReduceOp::Average});
        device::Event done{device::Stream()};
        done.record(device::Stream());
        return done;
      };
    }

    void step(const Samples& samples) {
      const Share mine = share_of(kSamples, group.rank(), group.size(), false);
      optimizer.zero_grad();
      for (int pass = 0; pass < passes; ++pass) {
        const auto output = network->forward(samples.inputs.slice(0, mine.begin, mine.end));
        const auto labels = samples.labels.slice(0, mine.begin, mine.end);
        torch::nn::functional::cross_entropy(output, labels).backward();
      }
      optimizer.clip_grad_norm_on_device(0.5);
      optimizer.step();
    }

    comm::Group group;
    Network network;
    torch::optim::SGD sgd;
    DistributedOptimizer optimizer;
    const int passes;
    std::vector<std::thread::id> callers;
  };
};
INSTANTIATE_TEST_SUITE_P(OnRanks, Recorded, testing::Values(1, 2, 4));

TEST_P(Recorded, StepsAreThoseOfTheUsualWay) {
  const Samples samples(torch::kFloat64);
  for (const int passes : {1, 3})
    comm::run_ranks(GetParam(), [&](comm::Engine& engine) {
      Rank usual(engine, passes), recorded(engine, passes);
      for (int step = 0; step < 6; ++step) {
        usual.step(samples);
        const bool now = step % 3 != 0;  // to and fro
        recorded.optimizer.reduce_by(now ? recorded.by_engine() : nullptr);
        recorded.step(samples);
      }
      EXPECT_EQ(recorded.callers, std::vector(4, std::this_thread::get_id())) << "one bucket a step, by this thread";
      const auto expected = usual.network->parameters(), found = recorded.network->parameters();
      for (std::size_t i = 0; i < expected.size(); ++i)
        EXPECT_LT((expected[i] - found[i]).abs().max().item<double>(), 1e-12) << i;
    });
}

TEST_P(Recorded, AParameterWithoutAGradientIsNamed) {
  comm::run_ranks(GetParam(), [&](comm::Engine& engine) {
    Rank rank(engine);
    const Samples samples(torch::kFloat64);
    rank.step(samples);
    EXPECT_EQ(rank.optimizer.why_not_reduced_by(), "");
    rank.optimizer.reduce_by(rank.by_engine());
    rank.optimizer.zero_grad();
    rank.network->forward(samples.inputs).detach_().requires_grad_().sum().backward();
    try {
      rank.optimizer.synchronize();
      FAIL();
    } catch (const Error& error) {
      EXPECT_NE(error.message().find("has no dense gradient"), std::string::npos) << error.message();
    }
  });
}

// On one rank a layer is not used: others' gradients become zeros there, which a fixed exchange could not know.
TEST(RecordedOptions, AGradientThatOnlyOthersHaveIsMissed) {
  comm::run_ranks(2, [](comm::Engine& engine) {
    torch::nn::Linear first(3, 2), second(3, 2);
    torch::nn::Sequential both(first, second);
    torch::optim::SGD sgd(both->parameters(), 0.1);
    DistributedOptimizer optimizer(sgd, named(*both), engine.world());
    torch::Tensor output = first->forward(torch::ones({1, 3}));
    if (engine.rank() == 0) output = output + second->forward(torch::ones({1, 3}));
    output.sum().backward();
    optimizer.synchronize();
    EXPECT_TRUE(second->weight.grad().defined());
    EXPECT_EQ(optimizer.why_not_reduced_by(),
              engine.rank() == 0 ? "" : "'1.weight' does not have a dense gradient in each backward pass");
    optimizer.step();
  });
}

TEST(RecordedOptions, BucketsAreKnownBeforeAnyGradient) {
  comm::run_ranks(1, [](comm::Engine& engine) {
    torch::nn::Linear layer(3, 5);
    torch::optim::SGD sgd(layer->parameters(), 0.1);
    DistributedOptimizer optimizer(sgd, named(*layer), engine.world());
    const auto buckets = optimizer.buckets();
    ASSERT_EQ(buckets.size(), 1u);
    ASSERT_EQ(buckets[0].size(), 2u);
    EXPECT_TRUE(buckets[0][0].is_same(layer->bias)) << "the last comes first";
    EXPECT_TRUE(buckets[0][1].is_same(layer->weight));
    layer->forward(torch::ones({1, 3})).sum().backward();
    const auto never = [](std::size_t, const auto&, const auto&) { return device::Event{device::Stream()}; };
    EXPECT_THROW(optimizer.reduce_by(never), Error) << "a backward pass was before";
  });
}

TEST(RecordedOptions, GradientsThatChangeOnTheirWayAreRefused) {
  comm::run_ranks(1, [](comm::Engine& engine) {
    Network network = small_network(torch::kFloat64);
    torch::optim::SGD sgd(network->parameters(), 0.1);
    for (DistributedOptions options : {DistributedOptions{.op = comm::ReduceOp::Adasum},
                                       DistributedOptions{.compression = comm::Compression::BF16}}) {
      DistributedOptimizer optimizer(sgd, named(*network), engine.world(), std::move(options));
      EXPECT_THROW(
          optimizer.reduce_by([](std::size_t, const auto&, const auto&) { return device::Event{device::Stream()}; }),
          Error);
    }
  });
}

}  // namespace
}  // namespace ronde::parallel
