#include "ronde/train/optim/entry.h"
#include "ronde/train/optim/fused.h"

namespace ronde::train {
namespace {

using torch::optim::AdamW;
using torch::optim::AdamWOptions;

AdamWOptions adamw_options(const OptimizerChoice& choice) {
  return with_decay(with_betas(AdamWOptions(0), choice), choice);
}

}  // namespace

OptimizerEntry adamw_entry() {
  return {.name = "adamw",
          .help = "Adam with decoupled weight decay (Loshchilov and Hutter).",
          .settings = {"optimizer.momentum", "optimizer.beta2"},
          .make = [](const OptimizerGroups& groups,
                     const OptimizerChoice& choice) { return make_spared<AdamW>(groups, adamw_options(choice)); },
          .make_fused =
              [](const OptimizerGroups& groups, const OptimizerChoice& choice) {
                return make_spared<FusedAdamW>(groups, adamw_options(choice));
              },
          .is = is_a<AdamW>,
          .state = state_format_of_adam<torch::optim::AdamWParamState>()};
}

}  // namespace ronde::train
