#include "ronde/models/tensor_map.h"

#include <vector>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"

namespace ronde::models {
namespace {

constexpr std::size_t kNamed = 4;

std::string named(std::vector<std::string> items) {
  const std::size_t count = items.size();
  if (count > kNamed) {
    items.resize(kNamed);
    items.push_back(fmt::format("and {} more", count - kNamed));
  }
  return join(items, ", ");
}

std::string sentence_part(const std::vector<std::string>& items, const char* one, const char* many) {
  return fmt::format("{} {} ({})", items.size(), items.size() == 1 ? one : many, named(items));
}

}  // namespace

TensorMap state_of(const torch::nn::Module& module) {
  TensorMap state;
  for (const auto& item : module.named_parameters()) state.emplace(item.key(), item.value());
  for (const auto& item : module.named_buffers()) state.emplace(item.key(), item.value());
  return state;
}

std::string differences(const TensorMap& wanted, const TensorMap& found) {
  std::vector<std::string> missing, extra, other, parts;
  for (const auto& [name, tensor] : wanted) {
    const auto match = found.find(name);
    if (match == found.end())
      missing.push_back(name);
    else if (match->second.sizes() != tensor.sizes())
      other.push_back(
          fmt::format("{} {} instead of {}", name, c10::str(match->second.sizes()), c10::str(tensor.sizes())));
  }
  for (const auto& [name, tensor] : found)
    if (!wanted.contains(name)) extra.push_back(name);
  if (!missing.empty()) parts.push_back(sentence_part(missing, "is missing", "are missing"));
  if (!extra.empty()) parts.push_back(sentence_part(extra, "is unknown", "are unknown"));
  if (!other.empty()) parts.push_back(sentence_part(other, "has another shape", "have another shape"));
  return join(parts, ", ");
}

void copy_values(const TensorMap& from, const TensorMap& to, const std::string& source) {
  if (const std::string wrong = differences(to, from); !wrong.empty())
    throw Error::bad_input("{} does not match this model: of its tensors, {}", source, wrong);
  const torch::NoGradGuard no_grad;
  for (const auto& [name, tensor] : to) torch::Tensor(tensor).copy_(from.at(name));
}

}  // namespace ronde::models
