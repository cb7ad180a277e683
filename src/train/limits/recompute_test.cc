// model.recompute on several ranks: gradients are made inside another backward pass, and still travel.
#include <mutex>

#include <gtest/gtest.h>

#include "ronde/comm/thread_job.h"
#include "ronde/models/model.h"
#include "ronde/models/tensor_map.h"
#include "ronde/parallel/collectives.h"
#include "ronde/parallel/distributed_optimizer.h"
#include "ronde/parallel/sync_batch_norm.h"

namespace ronde::train {
namespace {

using models::TensorMap;

constexpr int kRanks = 2, kSteps = 3;
constexpr std::int64_t kBatch = 4;

// Torch has one generator, which threads share.
std::mutex& generator() {
  static std::mutex one;
  return one;
}

struct How {
  bool again = false, sync_norm = false, overlap = true;
  int accumulate = 1;
};

TensorMap train_rank(comm::Engine& engine, const How& how) {
  torch::set_num_threads(1);
  models::NormFactory norm = models::batch_norm();
  if (how.sync_norm)
    norm = [group = engine.world()](std::int64_t channels) {
      return torch::nn::AnyModule(parallel::SyncBatchNorm(channels, group));
    };
  std::vector<torch::Tensor> inputs;
  std::shared_ptr<models::Network> network;
  {
    const std::lock_guard lock(generator());
    torch::manual_seed(3);
    network = models::make_model({.name = "resnet20", .height = 16, .width = 16, .recompute = how.again, .norm = norm});
    torch::manual_seed(10 + static_cast<std::uint64_t>(engine.rank()));
    for (int i = 0; i < kSteps * how.accumulate; ++i) inputs.push_back(torch::randn({kBatch, 3, 16, 16}));
  }
  engine.world().barrier().wait();  // computing again touches the generator too
  torch::optim::SGD sgd(network->parameters(), torch::optim::SGDOptions(0.05).momentum(0.9));
  DistributedOptimizer optimizer(sgd, parallel::named(*network), engine.world(),
                                 {.accumulate = how.accumulate, .overlap = how.overlap});
  for (int step = 0; step < kSteps; ++step) {
    optimizer.zero_grad();
    for (int pass = 0; pass < how.accumulate; ++pass)
      network->forward(inputs[static_cast<std::size_t>(step * how.accumulate + pass)]).square().mean().backward();
    optimizer.step();
  }
  TensorMap kept;
  for (const auto& [name, tensor] : models::state_of(*network)) kept[name] = tensor.clone();
  return kept;
}

std::vector<TensorMap> train(const How& how) {
  std::vector<TensorMap> ranks(kRanks);
  comm::run_ranks(
      kRanks, [&](comm::Engine& engine) { ranks[static_cast<std::size_t>(engine.rank())] = train_rank(engine, how); },
      {.deterministic = true});
  return ranks;
}

void expect_same(How how) {
  const auto plain = train(how);
  how.again = true;
  const auto again = train(how);
  for (std::size_t rank = 0; rank < kRanks; ++rank)
    for (const auto& [name, tensor] : plain[rank]) {
      EXPECT_TRUE(tensor.equal(again[rank].at(name))) << "rank " << rank << " " << name;
      if (name.find("running") == std::string::npos) {
        EXPECT_TRUE(tensor.equal(again[0].at(name))) << name;
      }
    }
}

TEST(RecomputeOnRanks, GivesTheSameWeights) {
  expect_same({});
}
TEST(RecomputeOnRanks, WithoutOverlap) {
  expect_same({.overlap = false});
}
TEST(RecomputeOnRanks, WithAccumulation) {
  expect_same({.accumulate = 2});
}
TEST(RecomputeOnRanks, WithNormsOverAllRanks) {
  expect_same({.sync_norm = true});
}

}  // namespace
}  // namespace ronde::train
