#include "ronde/train/optim/lamb.h"

#include "ronde/train/optim/entry.h"

namespace ronde::train {

OptimizerEntry lamb_entry() {
  return {
      .name = "lamb",
      .help =
          "Adam with a rate for each layer, by the norms of its weights and updates, for large batches (You et al.).",
      .settings = {"optimizer.momentum", "optimizer.beta2"},
      .make =
          [](const OptimizerGroups& groups, const OptimizerChoice& choice) {
            return make_spared<Lamb>(groups, with_decay(with_betas(LambOptions(0), choice), choice));
          },
      .is = is_a<Lamb>,
      .state = state_format<LambParamState>([](auto& state, const auto& see) {
        see("step", state.step(), Need::Always);
        see("exp_avg", state.exp_avg(), Need::Always);
        see("exp_avg_sq", state.exp_avg_sq(), Need::Always);
      })};
}

}  // namespace ronde::train
