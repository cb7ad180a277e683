#include "ronde/train/checkpoint/checkpoint_optimizer.h"

#include <map>
#include <memory>
#include <utility>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"
#include "ronde/train/optim/entry.h"
#include "ronde/train/optim/fused.h"
#include "ronde/train/optim/optimizer_names.h"

namespace ronde::train {
namespace {

using models::TensorMap;
using torch::optim::Optimizer;

// FAILS WITH: BadInput for an optimizer that is none of those in the registry.
std::shared_ptr<const StateFormat> format_of(const Optimizer& optimizer, std::span<const OptimizerEntry> more) {
  for (const OptimizerEntry& entry : more)
    if (entry.is(optimizer)) return entry.state;
  for (const OptimizerEntry& entry : optimizer_entries())
    if (entry.is(optimizer)) return entry.state;
  throw Error::bad_input("cannot save the state of this optimizer; supported are {}", join(optimizer_names(), ", "));
}

// The optimizer's parameters with their names.
std::vector<std::pair<std::string, torch::Tensor>> named(const Optimizer& optimizer,
                                                         const NamedParameters& parameters) {
  std::map<const void*, std::string> names;
  for (const auto& item : parameters) names[item.value().unsafeGetTensorImpl()] = item.key();
  std::vector<std::pair<std::string, torch::Tensor>> result;
  for (const auto& group : optimizer.param_groups()) {
    for (const torch::Tensor& parameter : group.params()) {
      const auto at = names.find(parameter.unsafeGetTensorImpl());
      if (at == names.end())
        throw Error::bad_input("parameter {} of the optimizer, of shape {}, does not belong to this model",
                               result.size() + 1, c10::str(parameter.sizes()));
      result.emplace_back(at->second, parameter);
    }
  }
  return result;
}

}  // namespace

TensorMap state_tensors(const Optimizer& optimizer, const NamedParameters& parameters,
                        std::span<const OptimizerEntry> more) {
  TensorMap tensors;
  if (const Fused* known = fused(optimizer)) known->settle();
  const auto format = format_of(optimizer, more);
  for (const auto& [name, parameter] : named(optimizer, parameters)) {
    const auto at = optimizer.state().find(parameter.unsafeGetTensorImpl());
    if (at != optimizer.state().end()) format->save(*at->second, name, tensors);
  }
  return tensors;
}

void restore_state(Optimizer& optimizer, const NamedParameters& parameters, const TensorMap& tensors,
                   const std::string& source, std::span<const OptimizerEntry> more) {
  const auto format = format_of(optimizer, more);
  const auto known = named(optimizer, parameters);
  TensorMap wanted;
  for (const auto& [name, parameter] : known) format->expect(name, parameter, tensors, wanted);
  if (const std::string wrong = models::differences(wanted, tensors); !wrong.empty())
    throw Error::bad_input("{} does not match this optimizer: of its tensors, {}", source, wrong);
  const torch::NoGradGuard no_grad;
  optimizer.state().clear();
  for (const auto& [name, parameter] : known)
    if (auto state = format->load(name, parameter, tensors))
      optimizer.state()[parameter.unsafeGetTensorImpl()] = std::move(state);
}

}  // namespace ronde::train
