#include "ronde/train/optimizers.h"

#include <algorithm>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"
#include "ronde/train/optim/entry.h"
#include "ronde/train/optim/optimizer_names.h"

namespace ronde::train {
namespace {

using torch::optim::Optimizer;
using Parameters = std::vector<torch::Tensor>;

std::vector<OptimizerEntry> all_entries(std::span<const OptimizerEntry> more) {
  auto all = optimizer_entries();
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

template <class Chosen>
std::vector<std::string> names_of(const Chosen& chosen, std::span<const OptimizerEntry> more = {}) {
  std::vector<std::string> names;
  for (const OptimizerEntry& entry : all_entries(more))
    if (chosen(entry)) names.emplace_back(entry.name);
  return names;
}

bool has_fused(const OptimizerEntry& entry) {
  return entry.make_fused && entry.has_fused();
}

bool wants_fused(const OptimizerEntry& entry, const std::string& wish, const Parameters& parameters) {
  if (wish == "off") return false;
  if (wish == "on" && !has_fused(entry))
    throw Error::bad_input("optimizer.fused is on, but {} has no fused kernel; use {}", entry.name,
                           join(fused_optimizers(), ", "));
  const auto on_gpu = [](const torch::Tensor& parameter) { return parameter.is_cuda(); };
  return has_fused(entry) && (wish == "on" || std::ranges::all_of(parameters, on_gpu));
}

// All in one group; or those of several dimensions, then the others.
OptimizerGroups grouped(const Parameters& parameters, bool spare_vectors) {
  if (!spare_vectors) return {torch::optim::OptimizerParamGroup(parameters)};
  Parameters weights, vectors;
  for (const torch::Tensor& parameter : parameters) (parameter.dim() > 1 ? weights : vectors).push_back(parameter);
  return {torch::optim::OptimizerParamGroup(weights), torch::optim::OptimizerParamGroup(vectors)};
}

}  // namespace

std::vector<std::string> optimizer_names() {
  return names_of([](const OptimizerEntry&) { return true; });
}

std::string optimizer_table() {
  std::string lines;
  for (const OptimizerEntry& entry : optimizer_entries())
    lines += fmt::format("{:<10}{}{}\n", entry.name, entry.help, has_fused(entry) ? " Has fused kernels." : "");
  return lines;
}

std::vector<std::string> optimizers_with(std::string_view setting) {
  auto names = names_of(
      [&](const OptimizerEntry& entry) { return std::ranges::find(entry.settings, setting) != entry.settings.end(); });
  return names.empty() ? optimizer_names() : names;
}

std::vector<std::string> fused_optimizers() {
  return names_of(has_fused);
}

OptimizerEntry find_optimizer(std::string_view name, std::span<const OptimizerEntry> more) {
  for (OptimizerEntry& entry : all_entries(more))
    if (entry.name == name) return std::move(entry);
  const auto names = names_of([](const OptimizerEntry&) { return true; }, more);
  const auto meant = nearest(name, names);
  throw Error::bad_input("optimizer.name is '{}': there is no such optimizer{}; there are {}", name,
                         meant ? " (did you mean " + *meant + "?)" : "", join(names, ", "));
}

std::unique_ptr<Optimizer> make_optimizer(const OptimizerChoice& choice, const Parameters& parameters,
                                          std::span<const OptimizerEntry> more) {
  const OptimizerEntry entry = find_optimizer(choice.name, more);
  const bool fused = wants_fused(entry, choice.fused, parameters);
  auto made = (fused ? entry.make_fused : entry.make)(grouped(parameters, choice.spare_vectors), choice);
  set_learning_rate(*made, choice.lr);
  return made;
}

void set_learning_rate(Optimizer& optimizer, double rate) {
  for (auto& group : optimizer.param_groups()) group.options().set_lr(rate);
}

}  // namespace ronde::train
