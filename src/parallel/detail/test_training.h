#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <torch/torch.h>

#include "ronde/base/system/mutex.h"
#include "ronde/comm/thread_job.h"
#include "ronde/parallel/collectives.h"
#include "ronde/parallel/distributed_optimizer.h"

// Training the same thing on one rank and on several, for tests. Ranks are threads.
namespace ronde::parallel::tests {

constexpr std::int64_t kSamples = 24, kInputs = 7, kClasses = 3;

// Torch has one generator, which threads share.
template <class Make>
auto with_seed(std::uint64_t seed, Make make) {
  static Mutex mutex;
  const Lock lock(mutex);
  torch::manual_seed(seed);
  return make();
}

struct Samples {
  explicit Samples(torch::ScalarType type) {
    with_seed(17, [&] {
      inputs = torch::randn({kSamples, kInputs}, type);
      labels = torch::randint(kClasses, {kSamples}, torch::kInt64);
      return 0;
    });
  }
  torch::Tensor inputs, labels;
};

struct Share {
  std::int64_t begin, end;
};
// Shares of a batch; uneven: the first has three more than the others would.
inline Share share_of(std::int64_t batch, int rank, int size, bool uneven) {
  const std::int64_t extra = uneven && size > 1 ? 3 : 0;
  const auto start = [&](std::int64_t r) { return r == 0 ? 0 : extra + (batch - extra) * r / size; };
  return {start(rank), start(rank + 1)};
}

using Network = torch::nn::Sequential;
inline Network small_network(torch::ScalarType type, std::uint64_t seed = 3) {
  return with_seed(seed, [&] {
    Network network(torch::nn::Linear(kInputs, 16), torch::nn::Tanh(), torch::nn::Linear(16, 16), torch::nn::Tanh(),
                    torch::nn::Linear(16, kClasses));
    network->to(type);
    return network;
  });
}

using MakeOptimizer =
    std::function<std::unique_ptr<torch::optim::Optimizer>(const std::vector<torch::Tensor>& parameters)>;
inline MakeOptimizer plain_sgd(double lr = 0.1) {
  return [lr](const auto& parameters) {
    return std::make_unique<torch::optim::SGD>(parameters, torch::optim::SGDOptions(lr));
  };
}

struct Training {
  torch::ScalarType type = torch::kFloat64;
  MakeOptimizer make_optimizer = plain_sgd();
  DistributedOptions options = {};
  bool uneven = false;
  int steps = 10;
  double clip = 0;
  std::function<Network(comm::Engine&)> make_network = nullptr;  // default: small_network
  // Called before a step, and may do anything with network and optimizer.
  std::function<void(int step, Network& network, torch::optim::Optimizer& optimizer)> before_step = nullptr;
};

// The weights after training on that many ranks, one row a rank.
inline std::vector<torch::Tensor> train(int ranks, const Training& training) {
  std::vector<torch::Tensor> weights(static_cast<std::size_t>(ranks));
  const Samples samples(training.type);
  comm::run_ranks(ranks, [&](comm::Engine& engine) {
    torch::set_num_threads(1);
    auto network = training.make_network ? training.make_network(engine) : small_network(training.type);
    broadcast_parameters(*network, engine.world());
    auto inner = training.make_optimizer(network->parameters());
    DistributedOptimizer optimizer(*inner, named(*network), engine.world(), training.options);
    const int passes = training.options.accumulate;
    for (int step = 0; step < training.steps; ++step) {
      if (training.before_step) training.before_step(step, network, *inner);
      optimizer.zero_grad();
      for (int pass = 0; pass < passes; ++pass) {
        const std::int64_t batch = kSamples / passes;
        auto [begin, end] = share_of(batch, engine.rank(), engine.size(), training.uneven);
        const auto inputs = samples.inputs.slice(0, pass * batch + begin, pass * batch + end);
        const auto labels = samples.labels.slice(0, pass * batch + begin, pass * batch + end);
        const auto loss = torch::cross_entropy_loss(network->forward(inputs), labels, {}, at::Reduction::Sum);
        (loss * (static_cast<double>(engine.size()) / static_cast<double>(batch * passes))).backward();
      }
      if (training.clip > 0) optimizer.clip_grad_norm(training.clip);
      optimizer.step();
    }
    std::vector<torch::Tensor> flat;
    for (const auto& parameter : network->parameters()) flat.push_back(parameter.detach().flatten());
    for (const auto& buffer : network->buffers())
      if (buffer.is_floating_point()) flat.push_back(buffer.detach().flatten());
    weights[static_cast<std::size_t>(engine.rank())] = torch::cat(flat).clone();
  });
  return weights;
}

// How far the weights of any rank are from those of one rank alone; infinite when ranks differ from one another.
inline double distance(const std::vector<torch::Tensor>& several, const torch::Tensor& alone) {
  for (const torch::Tensor& one : several)
    if (!one.equal(several[0])) return std::numeric_limits<double>::infinity();
  return (several[0] - alone).abs().max().item<double>();
}

}  // namespace ronde::parallel::tests
