#include "ronde/models/weights.h"

#include "ronde/models/safetensors.h"

namespace ronde::models {

void load_weights(torch::nn::Module& network, const std::filesystem::path& file) {
  const TensorMap found = read_safetensors(file).tensors;
  TensorMap wanted = state_of(network);
  std::erase_if(wanted, [&](const auto& item) {
    return item.first.ends_with("num_batches_tracked") && !found.contains(item.first);
  });
  copy_values(found, wanted, file.string());
}

void save_weights(const torch::nn::Module& network, const std::filesystem::path& file) {
  write_safetensors({.tensors = state_of(network), .metadata = {{"format", "pt"}}}, file);
}

}  // namespace ronde::models
