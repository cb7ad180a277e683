#include "ronde/models/weights.h"

#include "ronde/models/safetensors.h"

namespace ronde::models {
namespace {

bool is_head(const torch::Tensor& wanted, const torch::Tensor& found, std::int64_t classes) {
  return wanted.dim() > 0 && wanted.dim() == found.dim() && wanted.size(0) == classes && found.size(0) != classes &&
         wanted.sizes().slice(1) == found.sizes().slice(1);
}

}  // namespace

void load_weights(torch::nn::Module& network, const std::filesystem::path& file) {
  load_weights_for(0, network, file);
}

std::vector<std::string> load_weights_for(std::int64_t classes, torch::nn::Module& network,
                                          const std::filesystem::path& file) {
  return load_weights_for(classes, network, read_safetensors(file).tensors, file.string());
}

std::vector<std::string> load_weights_for(std::int64_t classes, torch::nn::Module& network, TensorMap weights,
                                          const std::string& source) {
  TensorMap wanted = state_of(network);
  std::vector<std::string> fresh;
  std::erase_if(wanted, [&](const auto& item) {
    const auto& [name, tensor] = item;
    const auto there = weights.find(name);
    if (there == weights.end()) return name.ends_with("num_batches_tracked");
    if (classes == 0 || !is_head(tensor, there->second, classes)) return false;
    weights.erase(there);
    fresh.push_back(name);
    return true;
  });
  copy_values(weights, wanted, source);
  return fresh;
}

void save_weights(const torch::nn::Module& network, const std::filesystem::path& file) {
  write_safetensors({.tensors = state_of(network), .metadata = {{"format", "pt"}}}, file);
}

}  // namespace ronde::models
