#include "ronde/parallel/collectives.h"

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/parallel/detail/test_training.h"
#include "ronde/parallel/tensor_buffer.h"

namespace ronde::parallel {
namespace {

using namespace tests;
using torch::Tensor;

TEST(Collectives, ParametersAndBuffersOfTheRoot) {
  comm::run_ranks(3, [](comm::Engine& engine) {
    const auto seed = static_cast<std::uint64_t>(engine.rank());
    torch::nn::Sequential network = small_network(torch::kFloat32, seed);
    network->push_back(torch::nn::BatchNorm1d(kClasses));
    network->buffers()[0].fill_(engine.rank());
    broadcast_parameters(*network, engine.world(), 1);
    EXPECT_TRUE(network->parameters()[0].equal(small_network(torch::kFloat32, 1)->parameters()[0]));
    EXPECT_EQ(network->buffers()[0][0].item<float>(), 1);
  });
}

TEST(Collectives, MemoryInAnotherOrder) {
  comm::run_ranks(2, [](comm::Engine& engine) {
    Tensor mine = torch::arange(2 * 3 * 4 * 4, torch::kFloat32).view({2, 3, 4, 4}) * (engine.rank() + 1);
    const Tensor first = torch::arange(2 * 3 * 4 * 4, torch::kFloat32).view({2, 3, 4, 4});
    if (engine.rank() == 1) mine = mine.contiguous(torch::MemoryFormat::ChannelsLast);
    broadcast_tensors({{"mine", mine}}, engine.world());
    EXPECT_TRUE(mine.equal(first));
  });
}

// Adam's moments and step counts arrive, and its learning rate.
TEST(Collectives, OptimizersOfTheRoot) {
  comm::run_ranks(2, [](comm::Engine& engine) {
    auto network = small_network(torch::kFloat64);
    torch::optim::Adam adam(network->parameters(), torch::optim::AdamOptions(engine.rank() == 0 ? 0.02 : 0.5));
    const auto step = [&] {
      adam.zero_grad();
      network->forward(torch::ones({2, kInputs}, torch::kFloat64)).square().sum().backward();
      adam.step();
    };
    if (engine.rank() == 0)
      for (int i = 0; i < 3; ++i) step();
    broadcast_parameters(*network, engine.world());
    broadcast_optimizer(adam, engine.world());
    step();
    const Tensor mine = network->parameters()[0].detach().clone();
    EXPECT_TRUE(torch::allclose(average(mine, engine.world()), mine, 0, 1e-15));
  });
}

TEST(Collectives, Texts) {
  comm::run_ranks(3, [](comm::Engine& engine) {
    EXPECT_EQ(broadcast_text(engine.rank() == 2 ? "hello" : "", engine.world(), 2), "hello");
    EXPECT_EQ(broadcast_text("", engine.world()), "");
    const std::string mine(static_cast<std::size_t>(engine.rank()), 'x');
    EXPECT_EQ(gather_texts(mine, engine.world()), (std::vector<std::string>{"", "x", "xx"}));
  });
}

TEST(Collectives, Averages) {
  comm::run_ranks(4, [](comm::Engine& engine) { EXPECT_EQ(average(engine.rank() * 2.0, engine.world()), 3.0); });
}

TEST(TensorBuffer, RefusesWhatHasNoPlainMemory) {
  EXPECT_THROW(buffer_of(torch::ones({4, 4}).slice(1, 0, 2)), Error);
  EXPECT_THROW(buffer_of(torch::ones({4}, torch::kComplexFloat)), Error);
  EXPECT_THROW(buffer_of(torch::eye(3).to_sparse()), Error);
  EXPECT_EQ(buffer_of(torch::ones({1, 1, 1, 1, 1, 1, 1, 1, 2})).shape, comm::Shape({2}));
}

}  // namespace
}  // namespace ronde::parallel
