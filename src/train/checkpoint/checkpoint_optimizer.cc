#include "ronde/train/checkpoint/checkpoint_optimizer.h"

#include <cstdint>
#include <map>
#include <memory>
#include <type_traits>
#include <utility>

#include "ronde/base/error.h"
#include "ronde/train/optim/fused.h"
#include "ronde/train/optim/lamb.h"
#include "ronde/train/optim/lars.h"

namespace ronde::train {
namespace {

using models::TensorMap;
using torch::optim::Optimizer;

enum class Need { Always, Sometimes };  // Sometimes: depends on the optimizer's options

// What the state of one parameter is made of: calls see(name, field, need) for each.
template <class See>
void each_field(torch::optim::SGDParamState& state, const See& see) {
  see("momentum_buffer", state.momentum_buffer(), Need::Sometimes);
}
template <class State, class See>
void each_field_of_adam(State& state, const See& see) {
  see("step", state.step(), Need::Always);
  see("exp_avg", state.exp_avg(), Need::Always);
  see("exp_avg_sq", state.exp_avg_sq(), Need::Always);
  see("max_exp_avg_sq", state.max_exp_avg_sq(), Need::Sometimes);
}
template <class See>
void each_field(torch::optim::AdamParamState& state, const See& see) {
  each_field_of_adam(state, see);
}
template <class See>
void each_field(torch::optim::AdamWParamState& state, const See& see) {
  each_field_of_adam(state, see);
}
template <class See>
void each_field(torch::optim::RMSpropParamState& state, const See& see) {
  see("step", state.step(), Need::Always);
  see("square_avg", state.square_avg(), Need::Always);
  see("momentum_buffer", state.momentum_buffer(), Need::Sometimes);
  see("grad_avg", state.grad_avg(), Need::Sometimes);
}
template <class See>
void each_field(torch::optim::AdagradParamState& state, const See& see) {
  see("step", state.step(), Need::Always);
  see("sum", state.sum(), Need::Always);
}
template <class See>
void each_field(LarsParamState& state, const See& see) {
  see("momentum_buffer", state.momentum_buffer(), Need::Sometimes);
  see("velocity", state.velocity(), Need::Sometimes);
}
template <class See>
void each_field(LambParamState& state, const See& see) {
  see("step", state.step(), Need::Always);
  see("exp_avg", state.exp_avg(), Need::Always);
  see("exp_avg_sq", state.exp_avg_sq(), Need::Always);
}

// Calls use(std::type_identity<State>) with the kind of state that this optimizer keeps.
template <class Use>
void with_state_kind(const Optimizer& optimizer, const Use& use) {
  if (dynamic_cast<const torch::optim::SGD*>(&optimizer)) return use(std::type_identity<torch::optim::SGDParamState>());
  if (dynamic_cast<const torch::optim::Adam*>(&optimizer))
    return use(std::type_identity<torch::optim::AdamParamState>());
  if (dynamic_cast<const torch::optim::AdamW*>(&optimizer))
    return use(std::type_identity<torch::optim::AdamWParamState>());
  if (dynamic_cast<const torch::optim::RMSprop*>(&optimizer))
    return use(std::type_identity<torch::optim::RMSpropParamState>());
  if (dynamic_cast<const torch::optim::Adagrad*>(&optimizer))
    return use(std::type_identity<torch::optim::AdagradParamState>());
  if (dynamic_cast<const Lars*>(&optimizer)) return use(std::type_identity<LarsParamState>());
  if (dynamic_cast<const Lamb*>(&optimizer)) return use(std::type_identity<LambParamState>());
  throw Error::bad_input(
      "cannot save the state of this optimizer; supported are SGD, Adam, AdamW, RMSprop, Adagrad, Lars and Lamb");
}

std::string field_name(const std::string& parameter, const char* field) {
  return parameter + "/" + field;
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

void put(torch::Tensor& field, const torch::Tensor& value, const torch::Tensor& parameter) {
  field =
      torch::empty_like(parameter, parameter.options().dtype(value.scalar_type()).requires_grad(false)).copy_(value);
}
void put(std::int64_t& field, const torch::Tensor& value, const torch::Tensor&) {
  field = value.item<std::int64_t>();
}

// What the tensors of a parameter with this kind of state must be called and look like, given those that are there.
template <class State>
void add_wanted(const std::string& name, const torch::Tensor& parameter, const TensorMap& found, TensorMap& wanted) {
  bool any = false;
  State state;
  each_field(state, [&](const char* field, auto&, Need) { any |= found.contains(field_name(name, field)); });
  if (!any) return;
  each_field(state, [&](const char* field, auto& place, Need need) {
    const std::string full = field_name(name, field);
    if (need == Need::Sometimes && !found.contains(full)) return;
    constexpr bool is_tensor = std::is_same_v<std::decay_t<decltype(place)>, torch::Tensor>;
    wanted[full] = is_tensor ? parameter : torch::empty({}, torch::kInt64);
  });
}

}  // namespace

TensorMap state_tensors(const Optimizer& optimizer, const NamedParameters& parameters) {
  TensorMap tensors;
  if (const Fused* known = fused(optimizer)) known->settle();
  with_state_kind(optimizer, [&]<class State>(std::type_identity<State>) {
    for (const auto& [name, parameter] : named(optimizer, parameters)) {
      const auto at = optimizer.state().find(parameter.unsafeGetTensorImpl());
      if (at == optimizer.state().end()) continue;
      each_field(static_cast<State&>(*at->second), [&, &key = name](const char* field, auto& value, Need) {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::int64_t>)
          tensors[field_name(key, field)] = torch::tensor(value, torch::kInt64);
        else if (value.defined())
          tensors[field_name(key, field)] = value;
      });
    }
  });
  return tensors;
}

void restore_state(Optimizer& optimizer, const NamedParameters& parameters, const TensorMap& tensors,
                   const std::string& source) {
  with_state_kind(optimizer, [&]<class State>(std::type_identity<State>) {
    const auto known = named(optimizer, parameters);
    TensorMap wanted;
    for (const auto& [name, parameter] : known) add_wanted<State>(name, parameter, tensors, wanted);
    if (const std::string wrong = models::differences(wanted, tensors); !wrong.empty())
      throw Error::bad_input("{} does not match this optimizer: of its tensors, {}", source, wrong);
    const torch::NoGradGuard no_grad;
    optimizer.state().clear();
    for (const auto& [name, parameter] : known) {
      auto state = std::make_unique<State>();
      bool any = false;
      each_field(*state, [&, &key = name, &like = parameter](const char* field, auto& place, Need) {
        const auto at = tensors.find(field_name(key, field));
        if (at == tensors.end()) return;
        put(place, at->second, like);
        any = true;
      });
      if (any) optimizer.state()[parameter.unsafeGetTensorImpl()] = std::move(state);
    }
  });
}

}  // namespace ronde::train
