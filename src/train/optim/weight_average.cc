#include "ronde/train/optim/weight_average.h"

#include <algorithm>

namespace ronde::train {
namespace {

// In memory of their own, in the same layout.
models::TensorMap copied(const models::TensorMap& tensors) {
  models::TensorMap copies;
  for (const auto& [name, tensor] : tensors) copies.emplace(name, tensor.detach().clone());
  return copies;
}

// Names of the average's tensors when they travel: those of the network's own are taken.
std::string travel_name(const std::string& name) {
  return "average of " + name;
}

}  // namespace

double decay_at(double decay, std::int64_t number) {
  const auto steps = static_cast<double>(number);
  return std::min(decay, (1 + steps) / (10 + steps));
}

WeightAverage::WeightAverage(torch::nn::Module& network, double decay)
    : network_(network),
      decay_(decay),
      weights_(models::state_of(network)),
      averages_(copied(weights_)),
      share_(torch::ones({}, torch::TensorOptions(torch::kFloat32).device(network.parameters().at(0).device()))) {}

void WeightAverage::restart() {
  restore(weights_, "the network");
}

void WeightAverage::begin_step(std::int64_t number) {
  share_.fill_(1 - decay_at(decay_, number));
}

void WeightAverage::add() {
  const torch::NoGradGuard no_grad;
  for (auto& [name, average] : averages_) {
    const torch::Tensor& weight = weights_.at(name);
    if (average.is_floating_point())
      average.lerp_(weight, share_.to(average.scalar_type()));
    else
      average.copy_(weight);  // a count
  }
}

void WeightAverage::instead_of_weights(const std::function<void()>& work) {
  const auto exchange = [this] {
    const torch::NoGradGuard no_grad;
    for (auto& [name, average] : averages_) {
      torch::Tensor weight = weights_.at(name);
      const torch::Tensor kept = weight.clone();
      weight.copy_(average);
      average.copy_(kept);
    }
  };
  exchange();
  work();
  exchange();
}

parallel::NamedTensors WeightAverage::of_parameters() const {
  parallel::NamedTensors some;
  for (const auto& item : network_.named_parameters())
    some.emplace_back(travel_name(item.key()), averages_.at(item.key()));
  return some;
}

parallel::NamedTensors WeightAverage::of_buffers() const {
  parallel::NamedTensors some;
  for (const auto& item : network_.named_buffers())
    some.emplace_back(travel_name(item.key()), averages_.at(item.key()));
  return some;
}

void WeightAverage::restore(const models::TensorMap& tensors, const std::string& source) {
  models::copy_values(tensors, averages_, source);
}

}  // namespace ronde::train
