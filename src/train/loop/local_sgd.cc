#include "ronde/train/loop/local_sgd.h"

#include <chrono>

#include "ronde/base/system/clock.h"
#include "ronde/parallel/collectives.h"
#include "ronde/trace/span.h"
#include "ronde/train/checkpoint/checkpoint_optimizer.h"

namespace ronde::train {

void average_training(const torch::nn::Module& network, const torch::optim::Optimizer& optimizer,
                      const comm::Group& group, std::span<const OptimizerEntry> more, const WeightAverage* average) {
  RONDE_SPAN("average weights");
  parallel::NamedTensors all = parallel::named(network);
  for (const auto& [name, tensor] : state_tensors(optimizer, network.named_parameters(), more))
    if (tensor.is_floating_point()) all.emplace_back(name, tensor);  // counts of steps are the same anyway
  if (average)
    for (auto& item : average->of_parameters()) all.push_back(std::move(item));
  parallel::average_tensors(all, group);
}

double LocalSgd::stepped(std::int64_t number) {
  apart_ = on();
  if (!apart_ || number % every_ != 0) return 0;
  const auto begin = monotonic_now();
  sync();
  return std::chrono::duration<double>(monotonic_now() - begin).count();
}

void LocalSgd::sync() {
  if (std::exchange(apart_, false)) average_training(network_, optimizer_, group_, more_, average_);
}

}  // namespace ronde::train
