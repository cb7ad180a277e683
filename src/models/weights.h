#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "ronde/models/network.h"
#include "ronde/models/tensor_map.h"

namespace ronde::models {

// Puts the weights of a safetensors file into a network, by name; types are converted. Counters of batches
// (num_batches_tracked) may be missing: old files have none.
// FAILS WITH: System, BadInput: the file is broken (see safetensors.h), or its tensors are others than the network's:
// says which. The network is then as it was.
void load_weights(torch::nn::Module& network, const std::filesystem::path& file);

// The same for a network of so many classes, where the file may be of another number: tensors that differ in nothing
// but their first dimension, which is that number here, keep the network's own values. Returns their names.
std::vector<std::string> load_weights_for(std::int64_t classes, torch::nn::Module& network,
                                          const std::filesystem::path& file);

// The same from tensors, such as those of a checkpoint; `source` is for messages.
std::vector<std::string> load_weights_for(std::int64_t classes, torch::nn::Module& network, TensorMap weights,
                                          const std::string& source);

// FAILS WITH: System.
void save_weights(const torch::nn::Module& network, const std::filesystem::path& file);

}  // namespace ronde::models
