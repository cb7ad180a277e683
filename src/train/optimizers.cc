#include "ronde/train/optimizers.h"

#include <algorithm>
#include <functional>
#include <map>

#include "ronde/base/error.h"
#include "ronde/train/optim/fused.h"
#include "ronde/train/optim/lamb.h"
#include "ronde/train/optim/lars.h"

namespace ronde::train {
namespace {

using namespace torch::optim;
using Parameters = std::vector<torch::Tensor>;

// The second group, if there is one, is spared: no weight decay, no layer-wise scaling. That is set afterwards: of
// options that a group brings along, torch takes those that look like a default from the first one.
template <class Made, class Options>
std::unique_ptr<Optimizer> make(const std::vector<OptimizerParamGroup>& groups, const Options& options) {
  auto made = std::make_unique<Made>(groups, options);
  for (std::size_t i = 1; i < made->param_groups().size(); ++i) {
    auto& spared = static_cast<Options&>(made->param_groups()[i].options());
    spared.weight_decay(0);
    if constexpr (requires { spared.scaled(false); }) spared.scaled(false);
  }
  return made;
}

using Make =
    std::function<std::unique_ptr<Optimizer>(const std::vector<OptimizerParamGroup>&, const Settings&, bool fused)>;

template <class Plain, class Options>
std::unique_ptr<Optimizer> make_either(const std::vector<OptimizerParamGroup>& groups, const Options& options,
                                       bool fused) {
  return fused ? make<FusedOptimizer<Plain>>(groups, options) : make<Plain>(groups, options);
}

bool has_fused(const std::string& name) {
  return name == "sgd" || name == "adam" || name == "adamw" || (name == "adagrad" && has_fused_adagrad());
}

bool wants_fused(const Settings& settings, const Parameters& parameters) {
  const std::string name = settings.get<"optimizer.name">(), wish = settings.get<"optimizer.fused">();
  if (wish == "off") return false;
  if (wish == "on" && !has_fused(name))
    throw Error::bad_input("optimizer.fused is on, but {} has no fused kernel; use {}", name,
                           has_fused_adagrad() ? "sgd, adam, adamw and adagrad" : "sgd, adam and adamw");
  const auto on_gpu = [](const torch::Tensor& parameter) { return parameter.is_cuda(); };
  return has_fused(name) && (wish == "on" || std::ranges::all_of(parameters, on_gpu));
}

// Torch would refuse it too, in words that know no settings.
template <class Options>
Options with_momentum(Options options, const Settings& settings) {
  if (settings.get<"optimizer.nesterov">() && settings.get<"optimizer.momentum">() == 0)
    throw Error::bad_input("optimizer.nesterov needs an optimizer.momentum above 0");
  return options.momentum(settings.get<"optimizer.momentum">()).nesterov(settings.get<"optimizer.nesterov">());
}

template <class Options>
Options with_betas(Options options, const Settings& settings) {
  for (const auto& [key, beta] : {std::pair{"optimizer.momentum", settings.get<"optimizer.momentum">()},
                                  {"optimizer.beta2", settings.get<"optimizer.beta2">()}})
    if (beta >= 1)
      throw Error::bad_input("{0} must be below 1 as a beta of {2}, got {1}", key, beta,
                             settings.get<"optimizer.name">());
  return options.betas({settings.get<"optimizer.momentum">(), settings.get<"optimizer.beta2">()});
}

const std::map<std::string, Make>& makers() {
  static const std::map<std::string, Make> all{
      {"sgd",
       [](const auto& groups, const Settings& settings, bool fused) {
         return make_either<SGD>(
             groups, with_momentum(SGDOptions(0), settings).weight_decay(settings.get<"optimizer.weight_decay">()),
             fused);
       }},
      {"adam",
       [](const auto& groups, const Settings& settings, bool fused) {
         return make_either<Adam>(
             groups, with_betas(AdamOptions(0), settings).weight_decay(settings.get<"optimizer.weight_decay">()),
             fused);
       }},
      {"adamw",
       [](const auto& groups, const Settings& settings, bool fused) {
         return make_either<AdamW>(
             groups, with_betas(AdamWOptions(0), settings).weight_decay(settings.get<"optimizer.weight_decay">()),
             fused);
       }},
      {"rmsprop",
       [](const auto& groups, const Settings& settings, bool) {
         return make<RMSprop>(groups, RMSpropOptions(0)
                                          .momentum(settings.get<"optimizer.momentum">())
                                          .weight_decay(settings.get<"optimizer.weight_decay">()));
       }},
      {"adagrad",
       [](const auto& groups, const Settings& settings, bool fused) {
         return make_either<Adagrad>(groups, AdagradOptions(0).weight_decay(settings.get<"optimizer.weight_decay">()),
                                     fused);
       }},
      {"lars",
       [](const auto& groups, const Settings& settings, bool) {
         return make<Lars>(groups, with_momentum(LarsOptions(0), settings)
                                       .weight_decay(settings.get<"optimizer.weight_decay">())
                                       .trust(settings.get<"optimizer.trust">())
                                       .correct(settings.get<"optimizer.momentum_correction">()));
       }},
      {"lamb", [](const auto& groups, const Settings& settings, bool) {
         return make<Lamb>(groups,
                           with_betas(LambOptions(0), settings).weight_decay(settings.get<"optimizer.weight_decay">()));
       }}};
  return all;
}

// All in one group; or those of several dimensions, then the others.
std::vector<OptimizerParamGroup> grouped(const Parameters& parameters, bool spare_vectors) {
  if (!spare_vectors) return {OptimizerParamGroup(parameters)};
  Parameters weights, vectors;
  for (const torch::Tensor& parameter : parameters) (parameter.dim() > 1 ? weights : vectors).push_back(parameter);
  return {OptimizerParamGroup(weights), OptimizerParamGroup(vectors)};
}

}  // namespace

// The choices of optimizer.name are the keys of makers().
std::unique_ptr<Optimizer> make_optimizer(const Settings& settings, const Parameters& parameters) {
  const Make& maker = makers().at(settings.get<"optimizer.name">());
  auto made = maker(grouped(parameters, settings.get<"optimizer.spare_vectors">()), settings,
                    wants_fused(settings, parameters));
  set_learning_rate(*made, settings.get<"optimizer.lr">());
  return made;
}

void set_learning_rate(Optimizer& optimizer, double rate) {
  for (auto& group : optimizer.param_groups()) group.options().set_lr(rate);
}

}  // namespace ronde::train
