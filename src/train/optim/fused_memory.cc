#include "ronde/train/optim/fused_memory.h"

#include <cmath>

namespace ronde::train {

using torch::Tensor;

bool fused_kernels_take(const std::vector<torch::optim::OptimizerParamGroup>& groups) {
  for (const auto& group : groups)
    for (const Tensor& parameter : group.params())
      if (const Tensor& gradient = parameter.grad(); gradient.defined())
        if (gradient.layout() != torch::kStrided || !parameter.is_floating_point() ||
            !parameter.is_non_overlapping_and_dense())
          return false;
  return true;
}

FusedBatch& batch_of(std::vector<FusedBatch>& batches, const Tensor& parameter, bool first) {
  for (FusedBatch& batch : batches)
    if (const Tensor& other = batch.parameters.front();
        batch.first == first && other.device() == parameter.device() && other.scalar_type() == parameter.scalar_type())
      return batch;
  FusedBatch& fresh = batches.emplace_back();
  fresh.first = first;
  return fresh;
}

Tensor laid_out_as(const Tensor& parameter, const Tensor& tensor) {
  const auto same_order = [&] {
    for (std::int64_t i = 0; i < parameter.dim(); ++i)  // a dimension of one element may have any stride
      if (parameter.size(i) != 1 && parameter.stride(i) != tensor.stride(i)) return false;
    return true;
  };
  if (tensor.scalar_type() == parameter.scalar_type() && tensor.device() == parameter.device() &&
      tensor.sizes() == parameter.sizes() && same_order())
    return tensor;
  return torch::empty_like(parameter, parameter.options().requires_grad(false)).copy_(tensor);
}

FusedMemory::Rate& FusedMemory::find_rate(std::size_t group, torch::Device device, double value) {
  for (Rate& one : rates_)
    if (one.group == group && one.device == device) return one;
  // Kernels of GPUs read f32; that of a CPU takes what it gets.
  const auto type = device.is_cpu() ? torch::kFloat64 : torch::kFloat32;
  rates_.push_back({.group = group,
                    .device = device,
                    .value = value,
                    .tensor = torch::full({}, value, torch::TensorOptions(type).device(device))});
  return rates_.back();
}

Tensor FusedMemory::rate(std::size_t group, torch::Device device, double value) {
  return find_rate(group, device, value).tensor;
}

// fill_() hands the number over with its kernel, so that no memory of the host has to wait for the device.
void FusedMemory::set_rate(std::size_t group, torch::Device device, double value) {
  Rate& found = find_rate(group, device, value);
  if (found.value == value) return;
  found.tensor.fill_(value);
  found.value = value;
}

Tensor FusedMemory::count(const Tensor& parameter, const Tensor& state, std::int64_t steps) {
  Count& found = counts_[parameter.unsafeGetTensorImpl()];
  const auto value = static_cast<double>(steps);
  if (!found.tensor.defined() || found.tensor.device() != parameter.device())
    found.tensor = torch::full({}, value, torch::TensorOptions(torch::kFloat32).device(parameter.device()));
  else if (found.steps != steps || !found.state.is_same(state))
    found.tensor.fill_(value);
  found.state = state;
  found.steps = steps;
  return found.tensor;
}

void FusedMemory::counted(const void* parameter, std::int64_t steps) {
  if (const auto at = counts_.find(parameter); at != counts_.end()) at->second.steps += steps;
}

std::int64_t FusedMemory::read_count(const void* parameter, const Tensor& state, std::int64_t steps) {
  const auto at = counts_.find(parameter);
  if (at == counts_.end() || at->second.steps != steps || !at->second.state.is_same(state)) return steps;
  at->second.steps = std::llround(at->second.tensor.item<double>());
  return at->second.steps;
}

}  // namespace ronde::train
