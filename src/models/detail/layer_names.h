#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include <torch/torch.h>

#include "ronde/models/network.h"

namespace ronde::models::detail {

// Tells which layer of a network an operation of its forward pass belongs to: that of the first parameter or buffer
// that it uses. One that uses none is named after where the layer before it lies: "layer1.0.relu_". Fed with the
// operations in their order.
class LayerNames {
 public:
  explicit LayerNames(const Network& network);

  struct Known {
    std::string name;  // "layer1.0.conv1.weight"
    bool is_parameter = false;
  };
  // Null: neither a parameter nor a buffer, nor a view of one.
  const Known* find(const torch::Tensor& tensor) const;

  struct Layer {
    std::string name;          // "layer1.0.conv1"
    bool has_weights = false;  // of its own
  };
  Layer next(std::string_view operation, std::span<const torch::Tensor> inputs);

 private:
  std::map<const void*, Known> known_;
  std::string folder_;  // of the last layer that had a name: "layer1.0"
};

}  // namespace ronde::models::detail
