#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include <torch/torch.h>

#include "ronde/comm/group.h"
#include "ronde/train/optim/weight_average.h"

namespace ronde::train {

struct OptimizerEntry;

// Local SGD: ranks that have trained alone come together. Everyone has the mean of all ranks' weights from now on, and
// the mean of what their optimizers have gathered (momentum, squares of gradients): else each would go on in a
// direction of its own, and a checkpoint, which holds one state for all ranks, could not bring them back. Buffers, such
// as running means of batch norms, stay each rank's own, as in plain training.
// REQUIRES: every rank of the group calls it, after the same number of steps in which all parameters had gradients.
// `more`: optimizers of a program or a plugin. `average`: the moving average of the weights, where there is one: the
// mean of the ranks' averages is the average of their means. FAILS WITH: as Handle::wait().
void average_training(const torch::nn::Module& network, const torch::optim::Optimizer& optimizer,
                      const comm::Group& group, std::span<const OptimizerEntry> more = {},
                      const WeightAverage* average = nullptr);

// When ranks come together: after every so many steps, and before anyone looks at the weights.
class LocalSgd {
 public:
  // `every`: steps (train.sync_every); with 1 nobody steps alone. `more`: as average_training().
  // REQUIRES: network, optimizer, `more` and `average` outlive this.
  LocalSgd(const torch::nn::Module& network, const torch::optim::Optimizer& optimizer, comm::Group group,
           std::int64_t every, std::span<const OptimizerEntry> more = {}, const WeightAverage* average = nullptr)
      : network_(network),
        optimizer_(optimizer),
        group_(std::move(group)),
        every_(every),
        more_(more),
        average_(average) {}

  bool on() const { return every_ > 1; }
  // After each step of all ranks. Returns the seconds that it took. FAILS WITH: as Handle::wait().
  double stepped(std::int64_t number);
  // All ranks call it, after the same step; nothing happens where they are together. FAILS WITH: as Handle::wait().
  void sync();

 private:
  const torch::nn::Module& network_;
  const torch::optim::Optimizer& optimizer_;
  const comm::Group group_;
  const std::int64_t every_;
  const std::span<const OptimizerEntry> more_;
  const WeightAverage* const average_;
  bool apart_ = false;  // ranks have stepped alone since they were together
};

}  // namespace ronde::train
