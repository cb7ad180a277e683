#pragma once

#include <cstddef>
#include <vector>

#include <torch/torch.h>

#include "ronde/comm/buffer.h"
#include "ronde/device/stream.h"

namespace ronde::parallel {

// A tensor as the engine sees it; it owns nothing, so the tensor must stay. Dense memory in another order than the
// shape says (channels last) is fine where all ranks have the same: reductions do not care.
// FAILS WITH: BadInput for a tensor with gaps, a sparse one, or a type that the engine does not know.
comm::Buffer buffer_of(const torch::Tensor& tensor);

// Whether the engine takes its memory as it is: the host's, or a GPU's where this build knows them.
bool travels_as_it_is(const torch::Tensor& tensor);

// As ronde::device counts: kHost for the CPU.
int number_of(torch::Device device);

// Torch's stream in which the calling thread uses a device now; the host's for the CPU.
device::Stream current_stream(torch::Device device);
// The same of a tensor's device, for comm::Request; of a tensor on the host, none.
CUstream_st* stream_of(const torch::Tensor& tensor);

comm::DType dtype_of(torch::ScalarType type);

// The bytes of each, such as GradientMemoryOptions::sizes of parameters.
std::vector<std::size_t> sizes_of(const std::vector<torch::Tensor>& tensors);

}  // namespace ronde::parallel
