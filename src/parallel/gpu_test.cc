#include <vector>

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/comm/thread_job.h"
#include "ronde/device/device.h"
#include "ronde/parallel/collectives.h"
#include "ronde/parallel/distributed_optimizer.h"
#include "ronde/parallel/sync_batch_norm.h"

// Tensors of GPU 0, which all ranks share: what they come to must be what one rank has, and what the CPU has.
namespace ronde::parallel {
namespace {

const torch::Device kGpu(torch::kCUDA, 0);

class GpuRanks : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (device::count() == 0) GTEST_SKIP() << device::why_none();
    if (!torch::cuda::is_available()) GTEST_SKIP() << "this libtorch has no CUDA";
    at::globalContext().setAllowTF32CuDNN(false);
    at::globalContext().setAllowTF32CuBLAS(false);
  }
};

torch::nn::Sequential make_network(torch::Device device) {
  torch::nn::Sequential network(torch::nn::Conv2d(torch::nn::Conv2dOptions(3, 8, 3).padding(1)), torch::nn::ReLU(),
                                torch::nn::Flatten(), torch::nn::Linear(8 * 6 * 6, 5));
  double value = 0.1;
  const torch::NoGradGuard no_grad;
  for (auto& parameter : network->parameters())
    parameter.copy_(torch::linspace(-value, value, parameter.numel()).view(parameter.sizes())), value *= 0.9;
  network->to(device);
  return network;
}

torch::Tensor sample_inputs() {
  return torch::linspace(-1, 1, 8 * 3 * 6 * 6).view({8, 3, 6, 6});
}

// Weights after some steps, each rank with its share of the same batch.
std::vector<torch::Tensor> trained(comm::Engine& engine, torch::Device device, DistributedOptions options = {}) {
  auto network = make_network(device);
  for (auto& parameter : network->parameters())
    if (parameter.dim() == 4) parameter.set_data(parameter.contiguous(torch::MemoryFormat::ChannelsLast));
  torch::optim::SGD sgd(network->parameters(), torch::optim::SGDOptions(0.05).momentum(0.9));
  DistributedOptimizer optimizer(sgd, named(*network), engine.world(), std::move(options));
  const auto inputs = sample_inputs().to(device).chunk(engine.size())[static_cast<std::size_t>(engine.rank())];
  const auto labels =
      torch::arange(8).remainder(5).to(device).chunk(engine.size())[static_cast<std::size_t>(engine.rank())];
  for (int step = 0; step < 6; ++step) {
    optimizer.zero_grad();
    torch::nn::functional::cross_entropy(network->forward(inputs), labels).backward();
    optimizer.clip_grad_norm_on_device(1.0);
    optimizer.step();
  }
  std::vector<torch::Tensor> weights;
  for (const auto& parameter : network->parameters()) weights.push_back(parameter.detach().cpu());
  return weights;
}

void expect_close(const std::vector<torch::Tensor>& a, const std::vector<torch::Tensor>& b, double tolerance) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    EXPECT_LE((a[i] - b[i]).abs().max().item<double>(), tolerance) << "parameter " << i;
}

TEST_P(GpuRanks, TrainToTheWeightsOfOneRankOnTheCpu) {
  std::vector<torch::Tensor> expected;
  comm::run_ranks(1, [&](comm::Engine& engine) { expected = trained(engine, torch::kCPU); });
  comm::run_ranks(GetParam(), [&](comm::Engine& engine) { expect_close(trained(engine, kGpu), expected, 2e-4); });
}

TEST_P(GpuRanks, CompressedAndGroupedGradientsTravelToo) {
  std::vector<torch::Tensor> expected;
  comm::run_ranks(1, [&](comm::Engine& engine) { expected = trained(engine, torch::kCPU); });
  comm::run_ranks(GetParam(), [&](comm::Engine& engine) {
    expect_close(trained(engine, kGpu, {.compression = comm::Compression::BF16}), expected, 2e-2);
    expect_close(trained(engine, kGpu, {.group_count = 2, .prefix = "grouped "}), expected, 2e-4);
    expect_close(trained(engine, kGpu, {.overlap = false, .prefix = "late "}), expected, 2e-4);
  });
}

TEST_P(GpuRanks, WeightsOfRank0ReachAll) {
  comm::run_ranks(GetParam(), [&](comm::Engine& engine) {
    auto network = make_network(kGpu);
    const torch::NoGradGuard no_grad;
    for (auto& parameter : network->parameters()) parameter.add_(engine.rank());
    broadcast_parameters(*network, engine.world());
    const auto expected = make_network(torch::kCPU);
    for (std::size_t i = 0; i < expected->parameters().size(); ++i)
      EXPECT_TRUE(torch::equal(network->parameters()[i].cpu(), expected->parameters()[i])) << i;
    EXPECT_DOUBLE_EQ(average(torch::full({}, engine.rank(), kGpu).to(torch::kFloat64), engine.world()).item<double>(),
                     (engine.size() - 1) / 2.0);
  });
}

TEST_P(GpuRanks, SyncedNormsSeeTheWholeBatch) {
  const auto inputs = sample_inputs();
  torch::nn::BatchNorm2d plain(3);
  const auto expected = plain->forward(inputs);
  comm::run_ranks(GetParam(), [&](comm::Engine& engine) {
    SyncBatchNorm norm(3, engine.world());
    norm->to(kGpu);
    const auto mine = static_cast<std::size_t>(engine.rank());
    const auto input = inputs.chunk(engine.size())[mine].to(kGpu).requires_grad_();
    const auto output = norm->forward(input);
    EXPECT_LE((output.detach().cpu() - expected.chunk(engine.size())[mine]).abs().max().item<double>(), 1e-5);
    EXPECT_LE((norm->running_var.cpu() - plain->running_var).abs().max().item<double>(), 1e-5);
    if (engine.size() > 1)
      return;  // all backward passes of a process on a GPU are one thread's: ranks would wait in it
    output.square().sum().backward();
    EXPECT_TRUE(input.grad().defined());
  });
}

INSTANTIATE_TEST_SUITE_P(All, GpuRanks, testing::Values(1, 2, 4), testing::PrintToStringParamName());

}  // namespace
}  // namespace ronde::parallel
