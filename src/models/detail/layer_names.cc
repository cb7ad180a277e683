#include "ronde/models/detail/layer_names.h"

namespace ronde::models::detail {
namespace {

// The same for all views of a tensor: a linear layer uses its weights transposed.
const void* memory_of(const torch::Tensor& tensor) {
  return tensor.has_storage() ? tensor.storage().unsafeGetStorageImpl() : nullptr;
}

// What lies before the last dot; `otherwise` where there is none.
std::string before_dot(const std::string& path, const std::string& otherwise) {
  const auto dot = path.rfind('.');
  return dot == std::string::npos ? otherwise : path.substr(0, dot);
}

}  // namespace

LayerNames::LayerNames(const Network& network) {
  for (const auto& item : network.named_parameters()) known_[memory_of(item.value())] = {item.key(), true};
  for (const auto& item : network.named_buffers()) known_[memory_of(item.value())] = {item.key(), false};
}

const LayerNames::Known* LayerNames::find(const torch::Tensor& tensor) const {
  const auto found = known_.find(memory_of(tensor));
  return found == known_.end() ? nullptr : &found->second;
}

LayerNames::Layer LayerNames::next(std::string_view operation, std::span<const torch::Tensor> inputs) {
  for (const torch::Tensor& input : inputs) {
    const Known* known = find(input);
    if (!known) continue;
    const std::string layer = before_dot(known->name, known->name);  // one of the network's own (pos_embed) stands
    folder_ = before_dot(layer, "");                                 // for itself
    return {layer, true};
  }
  const std::string own(operation);
  return {folder_.empty() ? own : folder_ + "." + own, false};
}

}  // namespace ronde::models::detail
