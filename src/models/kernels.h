#pragma once

#include <torch/torch.h>

namespace ronde::models {

// Kernels of our own, for what torch does in more passes over a GPU's memory than it needs. Each has a plain form, in
// torch's operations, which is what it does wherever there is no kernel for it: on the CPU, for other types, in a build
// without CUDA's compiler. To costs and traces each is one operation.
//
// Work goes into torch's current stream, and nobody waits: it may be captured into a graph.

// Whether this build has kernels.
bool has_kernels();

// The end of a residual block: x.add_(other).relu_(), to the bit and for autograd too. `x` is overwritten, as by that;
// `other` never is. There is a kernel for f32, bf16 and f16 where both lie in the same way and without gaps, and share
// no memory; on a GPU the operation is then called add_relu_.
// FAILS WITH: what torch throws for shapes that do not go together; System, in CUDA's words.
torch::Tensor add_relu(torch::Tensor x, const torch::Tensor& other);

}  // namespace ronde::models
