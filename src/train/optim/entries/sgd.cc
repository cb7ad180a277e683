#include "ronde/train/optim/entry.h"
#include "ronde/train/optim/fused.h"

namespace ronde::train {
namespace {

using torch::optim::SGD;
using torch::optim::SGDOptions;

SGDOptions sgd_options(const OptimizerChoice& choice) {
  return with_decay(with_momentum(SGDOptions(0), choice), choice);
}

}  // namespace

OptimizerEntry sgd_entry() {
  return {
      .name = "sgd",
      .help = "Stochastic gradient descent, with momentum, also Nesterov's.",
      .settings = {"optimizer.momentum", "optimizer.nesterov"},
      .make = [](const OptimizerGroups& groups,
                 const OptimizerChoice& choice) { return make_spared<SGD>(groups, sgd_options(choice)); },
      .make_fused = [](const OptimizerGroups& groups,
                       const OptimizerChoice& choice) { return make_spared<FusedSgd>(groups, sgd_options(choice)); },
      .is = is_a<SGD>,
      .state = state_format<torch::optim::SGDParamState>(
          [](auto& state, const auto& see) { see("momentum_buffer", state.momentum_buffer(), Need::Sometimes); })};
}

}  // namespace ronde::train
