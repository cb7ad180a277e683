#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <torch/csrc/distributed/c10d/Types.hpp>

#include "transfer.h"

// The collectives of torch.distributed as requests of the engine. All of them FAIL WITH: BadInput for tensors, lists or
// reductions that do not fit.
namespace ronde::python::c10d_backend {

using Tensors = std::vector<at::Tensor>;
using Op = ::c10d::ReduceOp;

// Who calls, and in a group of how many.
struct Place {
  int rank = 0, size = 1;
};

Transfer broadcast(const at::Tensor& tensor, int root);
Transfer allreduce(const Place& place, const at::Tensor& tensor, const Op& op);
Transfer reduce(const Place& place, const at::Tensor& tensor, const Op& op, int root);
// One tensor per member; their sizes may differ.
Transfer allgather(const Place& place, const Tensors& outputs, const at::Tensor& input);
Transfer allgather_into(const Place& place, const at::Tensor& output, const at::Tensor& input);
// `outputs` matter on the root, as `inputs` of scatter() do.
Transfer gather(const Place& place, const Tensors& outputs, const at::Tensor& input, int root);
Transfer scatter(const Place& place, const at::Tensor& output, const Tensors& inputs, int root);
// One tensor per member; their sizes may differ.
Transfer reduce_scatter(const Place& place, const at::Tensor& output, const Tensors& inputs, const Op& op);
Transfer reduce_scatter_from(const Place& place, const at::Tensor& output, const at::Tensor& input, const Op& op);
Transfer alltoall(const Place& place, const Tensors& outputs, const Tensors& inputs);
// By rows; no splits: equal shares.
Transfer alltoall_rows(const Place& place, const at::Tensor& output, const at::Tensor& input,
                       const std::vector<std::int64_t>& output_splits, const std::vector<std::int64_t>& input_splits);
Transfer send(const at::Tensor& tensor, std::string name, int to);
Transfer receive(const at::Tensor& tensor, std::string name, int from);
Transfer barrier();

}  // namespace ronde::python::c10d_backend
