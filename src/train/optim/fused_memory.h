#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include <torch/torch.h>

// What lies between an optimizer of torch and a fused kernel of torch.
namespace ronde::train {

// Parameters of one group, device and type, with what a kernel takes for each.
struct FusedBatch {
  bool first = false;  // SGD: no momentum yet, and its first value is not like later ones
  std::vector<torch::Tensor> parameters, gradients;
  std::array<std::vector<torch::Tensor>, 3> state;
  std::vector<torch::Tensor> counts;  // of steps; SGD: none
};

struct FusedScaling {
  std::optional<torch::Tensor> grad_scale, found_inf;
};

// Whether fused kernels take every parameter that has a gradient.
bool fused_kernels_take(const std::vector<torch::optim::OptimizerParamGroup>& groups);

// The batch of this parameter: one of `batches`, or a new one at their end.
FusedBatch& batch_of(std::vector<FusedBatch>& batches, const torch::Tensor& parameter, bool first);

// `tensor` as kernels want it beside this parameter: of its type, on its device, its elements in the same order. A copy
// where it is not.
torch::Tensor laid_out_as(const torch::Tensor& parameter, const torch::Tensor& tensor);

// Numbers in device memory that change from step to step, besides the state of an optimizer. Each keeps its address, so
// that a graph finds it.
class FusedMemory {
 public:
  // The learning rate of a group. set_rate() writes it, rate() only where there was none.
  torch::Tensor rate(std::size_t group, torch::Device device, double value);
  void set_rate(std::size_t group, torch::Device device, double value);

  // The steps that a parameter has taken, as the device counts them. Written only where the host's count `steps` is not
  // the one remembered, or `state`, a tensor of the parameter's state, is another one: someone has put it there.
  torch::Tensor count(const torch::Tensor& parameter, const torch::Tensor& state, std::int64_t steps);
  // The device has counted, or will: the host remembers it.
  void counted(const void* parameter, std::int64_t steps);
  // The device's count, for which it waits. `steps` where there is none, or a later one than that was put there.
  std::int64_t read_count(const void* parameter, const torch::Tensor& state, std::int64_t steps);

 private:
  struct Rate {
    std::size_t group;
    torch::Device device;
    double value;
    torch::Tensor tensor;
  };
  struct Count {
    torch::Tensor tensor, state;
    std::int64_t steps = 0;
  };

  Rate& find_rate(std::size_t group, torch::Device device, double value);

  std::vector<Rate> rates_;
  std::unordered_map<const void*, Count> counts_;
};

}  // namespace ronde::train
