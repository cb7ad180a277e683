#include "ronde/train/optim/lars.h"

#include "ronde/train/optim/entry.h"

namespace ronde::train {

OptimizerEntry lars_entry() {
  return {
      .name = "lars",
      .help =
          "SGD with a rate for each layer, by the norms of its weights and gradients, for large batches (You et al.).",
      .settings = {"optimizer.momentum", "optimizer.nesterov", "optimizer.trust", "optimizer.momentum_correction"},
      .make =
          [](const OptimizerGroups& groups, const OptimizerChoice& choice) {
            const auto options = with_decay(with_momentum(LarsOptions(0), choice), choice)
                                     .trust(choice.trust)
                                     .correct(choice.momentum_correction);
            return make_spared<Lars>(groups, options);
          },
      .is = is_a<Lars>,
      .state = state_format<LarsParamState>([](auto& state, const auto& see) {
        see("momentum_buffer", state.momentum_buffer(), Need::Sometimes);
        see("velocity", state.velocity(), Need::Sometimes);
      })};
}

}  // namespace ronde::train
