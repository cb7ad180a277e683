#include "ronde/train/optim/entry.h"
#include "ronde/train/optim/fused.h"

namespace ronde::train {
namespace {

using torch::optim::Adam;
using torch::optim::AdamOptions;

AdamOptions adam_options(const OptimizerChoice& choice) {
  return with_decay(with_betas(AdamOptions(0), choice), choice);
}

}  // namespace

OptimizerEntry adam_entry() {
  return {
      .name = "adam",
      .help = "Adam (Kingma and Ba); its weight decay is added to the gradient.",
      .settings = {"optimizer.momentum", "optimizer.beta2"},
      .make = [](const OptimizerGroups& groups,
                 const OptimizerChoice& choice) { return make_spared<Adam>(groups, adam_options(choice)); },
      .make_fused = [](const OptimizerGroups& groups,
                       const OptimizerChoice& choice) { return make_spared<FusedAdam>(groups, adam_options(choice)); },
      .is = is_a<Adam>,
      .state = state_format_of_adam<torch::optim::AdamParamState>()};
}

}  // namespace ronde::train
