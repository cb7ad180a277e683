#pragma once

#include <map>
#include <string>

#include <torch/torch.h>

namespace ronde::models {

// Tensors by name, in the order of their names.
using TensorMap = std::map<std::string, torch::Tensor>;

// All parameters and buffers of a module: what torch calls its state. They share the module's memory.
TensorMap state_of(const torch::nn::Module& module);

// In what the tensors of `found` differ from those that are `wanted`, as part of a sentence: "2 are missing (fc.bias,
// fc.weight), 1 has another shape (conv1.weight [64, 3, 7, 7] instead of [64, 12, 7, 7])". Names a few of each kind and
// counts the rest. Empty: in nothing. Types may differ.
std::string differences(const TensorMap& wanted, const TensorMap& found);

// Copies the values of `from` into the tensors of `to`, whatever their types, layouts and devices.
// FAILS WITH: BadInput, "`source` does not fit ..." with the differences, before anything is copied.
void copy_values(const TensorMap& from, const TensorMap& to, const std::string& source);

}  // namespace ronde::models
