#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>

#include <torch/torch.h>

#include "ronde/models/tensor_map.h"

namespace ronde::train {

enum class Need { Always, Sometimes };  // of a field of the state. Sometimes: depends on the optimizer's options

// How what an optimizer keeps for one parameter becomes tensors by name, and comes back from them. A tensor is called
// PARAMETER/FIELD: fc.weight/exp_avg. Stateless.
class StateFormat {
 public:
  using State = torch::optim::OptimizerParamState;
  using TensorMap = models::TensorMap;

  virtual ~StateFormat() = default;
  // Adds the tensors of this state; they share its memory.
  virtual void save(State& state, const std::string& name, TensorMap& tensors) const = 0;
  // Adds what the tensors of this parameter must be called and look like, given those that are there.
  virtual void expect(const std::string& name, const torch::Tensor& parameter, const TensorMap& found,
                      TensorMap& wanted) const = 0;
  // Copies, in the layout and on the device of the parameter. None where there are no tensors of it.
  virtual std::unique_ptr<State> load(const std::string& name, const torch::Tensor& parameter,
                                      const TensorMap& found) const = 0;
};

// `EachField` is called with a Kept& and see, and calls see(field's name, field, need) for each field.
template <class Kept, class EachField>
class StateFormatOf final : public StateFormat {
 public:
  explicit StateFormatOf(EachField each) : each_(each) {}

  void save(State& state, const std::string& name, TensorMap& tensors) const override {
    each_(static_cast<Kept&>(state), [&](const char* field, auto& value, Need) {
      if constexpr (!kIsTensor<decltype(value)>)
        tensors[full(name, field)] = torch::tensor(value, torch::kInt64);
      else if (value.defined())
        tensors[full(name, field)] = value;
    });
  }

  void expect(const std::string& name, const torch::Tensor& parameter, const TensorMap& found,
              TensorMap& wanted) const override {
    bool any = false;
    Kept state;
    each_(state, [&](const char* field, auto&, Need) { any |= found.contains(full(name, field)); });
    if (!any) return;
    each_(state, [&](const char* field, auto& place, Need need) {
      if (need == Need::Sometimes && !found.contains(full(name, field))) return;
      wanted[full(name, field)] = kIsTensor<decltype(place)> ? parameter : torch::empty({}, torch::kInt64);
    });
  }

  std::unique_ptr<State> load(const std::string& name, const torch::Tensor& parameter,
                              const TensorMap& found) const override {
    auto state = std::make_unique<Kept>();
    bool any = false;
    each_(*state, [&](const char* field, auto& place, Need) {
      const auto at = found.find(full(name, field));
      if (at == found.end()) return;
      put(place, at->second, parameter);
      any = true;
    });
    if (!any) return nullptr;
    return state;
  }

 private:
  template <class Field>
  static constexpr bool kIsTensor = std::is_same_v<std::decay_t<Field>, torch::Tensor>;

  static std::string full(const std::string& name, const char* field) { return name + "/" + field; }
  static void put(torch::Tensor& field, const torch::Tensor& value, const torch::Tensor& parameter) {
    const auto options = parameter.options().dtype(value.scalar_type()).requires_grad(false);
    field = torch::empty_like(parameter, options).copy_(value);
  }
  static void put(std::int64_t& field, const torch::Tensor& value, const torch::Tensor&) {
    field = value.item<std::int64_t>();
  }

  const EachField each_;
};

//   state_format<SGDParamState>([](auto& state, const auto& see) { see("momentum_buffer", ...); })
template <class Kept, class EachField>
std::shared_ptr<const StateFormat> state_format(EachField each) {
  return std::make_shared<const StateFormatOf<Kept, EachField>>(each);
}

// Of torch's Adam and AdamW.
template <class Kept>
std::shared_ptr<const StateFormat> state_format_of_adam() {
  return state_format<Kept>([](auto& state, const auto& see) {
    see("step", state.step(), Need::Always);
    see("exp_avg", state.exp_avg(), Need::Always);
    see("exp_avg_sq", state.exp_avg_sq(), Need::Always);
    see("max_exp_avg_sq", state.max_exp_avg_sq(), Need::Sometimes);
  });
}

}  // namespace ronde::train
