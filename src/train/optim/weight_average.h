#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <torch/torch.h>

#include "ronde/models/tensor_map.h"
#include "ronde/parallel/distributed_optimizer.h"

namespace ronde::train {

// How much of a moving average stays when step `number` (from 1) is added to it: `decay`, and less at first, so that
// the random weights at the beginning are soon forgotten, as in TensorFlow's ExponentialMovingAverage. Pure.
double decay_at(double decay, std::int64_t number);

// The exponential moving average of a network's parameters and of its buffers, such as running means (train.ema). It is
// on the network's device. Ranks whose weights are the same have the same average of them.
class WeightAverage {
 public:
  // Begins with what the network has. REQUIRES: 0 < decay < 1; the network outlives this, and its tensors stay where
  // they are.
  WeightAverage(torch::nn::Module& network, double decay);

  void restart();  // begins anew, with what the network has now

  // Before step `number`, by the host; and after it, nothing but work for the device, so that a graph can record it.
  void begin_step(std::int64_t number);
  void add();

  // Runs `work` while the network has the averages in place of its weights. REQUIRES: it does not step the network.
  void instead_of_weights(const std::function<void()>& work);

  // By the names of the network's tensors. They share this one's memory.
  const models::TensorMap& tensors() const { return averages_; }
  // Those of parameters, and those of buffers, for what ranks do together.
  parallel::NamedTensors of_parameters() const;
  parallel::NamedTensors of_buffers() const;
  // FAILS WITH: BadInput for tensors of another network, saying which differ; `source` is for the message.
  void restore(const models::TensorMap& tensors, const std::string& source);

 private:
  torch::nn::Module& network_;
  const double decay_;
  const models::TensorMap weights_;  // the network's
  models::TensorMap averages_;
  torch::Tensor share_;  // of the weights in the new average
};

}  // namespace ronde::train
