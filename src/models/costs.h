#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <torch/torch.h>

#include "ronde/models/network.h"

namespace ronde::models {

// What one step of a forward pass costs. All counts are of arithmetic, not of any machine.
struct LayerCost {
  std::string name = {};       // "layer1.0.conv1"; a step without parameters is named after the layer before it
  std::string operation = {};  // "conv2d"
  std::vector<std::int64_t> output = {};  // its shape, for one sample
  std::int64_t parameters = 0;            // that no earlier step has used
  // Of the forward pass; a multiply-add is two. Convolutions, linear layers, LSTM and attention as their products
  // (biases not counted), norms and add_relu_ two an element, what moves values none, everything else one for each
  // output. The backward pass takes twice as many.
  std::int64_t flops = 0;
  std::int64_t bytes = 0;             // read and written, if nothing stays in a cache: inputs, weights, outputs
  std::int64_t activation_bytes = 0;  // outputs that take new memory, which training keeps until the backward pass
};

// The costs of all steps of a forward pass over `batch` samples of shape `sample`, such as {3, 224, 224}, in order.
// Views cost nothing and are not listed. Runs one sample through the network, in evaluation mode, on this thread.
// REQUIRES: nobody else uses the network meanwhile.
std::vector<LayerCost> costs(Network& network, torch::IntArrayRef sample, std::int64_t batch = 1);

LayerCost total(std::span<const LayerCost> costs);  // named "total"

// A line for each step and one for all of them, for people.
std::string cost_table(std::span<const LayerCost> costs);

std::int64_t count_parameters(const torch::nn::Module& network);

}  // namespace ronde::models
