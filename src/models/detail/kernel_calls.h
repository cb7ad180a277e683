#pragma once

#include <torch/torch.h>

// What lies between kernels.h and its kernels.
namespace ronde::models::detail {

// add_relu() as one operation, also where there is no kernel for it: its tests need no GPU.
torch::Tensor add_relu_as_one(torch::Tensor x, const torch::Tensor& other);

// x = relu(x + other), of which autograd hears nothing. False: this build, or that GPU, has no kernel; nothing was
// done. One of two files is behind it. REQUIRES: dense tensors of one shape, layout and type on one device, that share
// no memory.
bool add_relu_on_gpu(const torch::Tensor& x, const torch::Tensor& other);

}  // namespace ronde::models::detail
