#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <torch/torch.h>

#include "ronde/base/error.h"
#include "ronde/train/optim/state_format.h"
#include "ronde/train/options.h"

// What an optimizer of `ronde train` is: one file in entries/ says all there is to know about it, and CMake makes the
// list.
namespace ronde::train {

using OptimizerGroups = std::vector<torch::optim::OptimizerParamGroup>;
using MakeOptimizer = std::unique_ptr<torch::optim::Optimizer> (*)(const OptimizerGroups&, const OptimizerChoice&);

struct OptimizerEntry {
  std::string_view name;                        // as optimizer.name has it
  std::string_view help;                        // one sentence
  std::vector<std::string_view> settings = {};  // of optimizer.*, those that not every optimizer reads
  // FAILS WITH: BadInput for settings that do not go together.
  MakeOptimizer make = nullptr;
  MakeOptimizer make_fused = nullptr;         // the same in fused kernels (fused.h); nullptr: there are none
  bool (*has_fused)() = [] { return true; };  // whether this torch has these kernels
  bool (*is)(const torch::optim::Optimizer&) = nullptr;
  std::shared_ptr<const StateFormat> state = nullptr;  // how a checkpoint keeps it
};

// All of them; in the order of CMakeLists.txt. Made anew by each call.
std::vector<OptimizerEntry> optimizer_entries();

// `more`: those of a program or a plugin. FAILS WITH: BadInput for a name that no optimizer has, with those that there
// are.
OptimizerEntry find_optimizer(std::string_view name, std::span<const OptimizerEntry> more = {});

// --- What entries are made of ----------------------------------------------------------------------------------------

// For OptimizerEntry::is.
template <class Made>
bool is_a(const torch::optim::Optimizer& optimizer) {
  return dynamic_cast<const Made*>(&optimizer) != nullptr;
}

// The second group, if there is one, is spared: no weight decay, no layer-wise scaling. That is set afterwards: of
// options that a group brings along, torch takes those that look like a default from the first one.
template <class Made, class Options>
std::unique_ptr<torch::optim::Optimizer> make_spared(const OptimizerGroups& groups, const Options& options) {
  auto made = std::make_unique<Made>(groups, options);
  for (std::size_t i = 1; i < made->param_groups().size(); ++i) {
    auto& spared = static_cast<Options&>(made->param_groups()[i].options());
    spared.weight_decay(0);
    if constexpr (requires { spared.scaled(false); }) spared.scaled(false);
  }
  return made;
}

// optimizer.weight_decay, which all have.
template <class Options>
Options with_decay(Options options, const OptimizerChoice& choice) {
  return options.weight_decay(choice.weight_decay);
}

// optimizer.momentum and optimizer.nesterov. Torch would refuse it too, in words that know no settings.
template <class Options>
Options with_momentum(Options options, const OptimizerChoice& choice) {
  if (choice.nesterov && choice.momentum == 0)
    throw Error::bad_input("optimizer.nesterov needs an optimizer.momentum above 0");
  return options.momentum(choice.momentum).nesterov(choice.nesterov);
}

// optimizer.momentum and optimizer.beta2, as the two betas of adam and its like.
template <class Options>
Options with_betas(Options options, const OptimizerChoice& choice) {
  for (const auto& [key, beta] : {std::pair{"optimizer.momentum", choice.momentum}, {"optimizer.beta2", choice.beta2}})
    if (beta >= 1) throw Error::bad_input("{0} must be below 1 as a beta of {2}, got {1}", key, beta, choice.name);
  return options.betas({choice.momentum, choice.beta2});
}

}  // namespace ronde::train
