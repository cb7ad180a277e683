#include "ronde/train/optim/entry.h"
#include "ronde/train/optim/fused.h"

namespace ronde::train {
namespace {

using torch::optim::AdamW;
using torch::optim::AdamWOptions;

AdamWOptions adamw_options(const Settings& settings) {
  return with_decay(with_betas(AdamWOptions(0), settings), settings);
}

}  // namespace

OptimizerEntry adamw_entry() {
  return {
      .name = "adamw",
      .help = "Adam with decoupled weight decay (Loshchilov and Hutter).",
      .settings = {"optimizer.momentum", "optimizer.beta2"},
      .make = [](const OptimizerGroups& groups,
                 const Settings& settings) { return make_spared<AdamW>(groups, adamw_options(settings)); },
      .make_fused = [](const OptimizerGroups& groups,
                       const Settings& settings) { return make_spared<FusedAdamW>(groups, adamw_options(settings)); },
      .is = is_a<AdamW>,
      .state = state_format_of_adam<torch::optim::AdamWParamState>()};
}

}  // namespace ronde::train
