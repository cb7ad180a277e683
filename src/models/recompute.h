#pragma once

#include <functional>
#include <vector>

#include <torch/torch.h>

#include "ronde/models/network.h"

// Activation checkpointing: what a part of a network makes on its way is forgotten, and made again in the backward
// pass. A step then costs up to one more forward pass, and keeps one tensor a part rather than all of them.
namespace ronde::models {

// A stretch of a network: from one tensor to another, the same one for the same input.
using Part = std::function<torch::Tensor(const torch::Tensor& input)>;

// part(input), which keeps nothing but its input for the backward pass. Outputs, gradients, random numbers and
// `buffers` (running means and the like, which the part changes as it goes) are those of part(input) to the bit: the
// second time begins with the random numbers and the autocast of the first, and what it does to buffers is undone.
// Where no gradients are asked for, it is part(input) and nothing else.
//
// The backward pass of the part runs inside that of the whole, on the same thread: hooks of its parameters fire there.
// REQUIRES: the part does not change its input, and its parameters and what it refers to live until the backward pass;
// the gradient comes by backward(), not by torch::autograd::grad().
torch::Tensor recompute(const Part& part, const std::vector<torch::Tensor>& buffers, const torch::Tensor& input);

// The same for a network inside another one; `again` says whether to.
torch::Tensor run_part(Network& part, const torch::Tensor& input, bool again);

}  // namespace ronde::models
