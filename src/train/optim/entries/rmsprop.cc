#include "ronde/train/optim/entry.h"

namespace ronde::train {

OptimizerEntry rmsprop_entry() {
  using torch::optim::RMSprop;
  using torch::optim::RMSpropOptions;
  return {.name = "rmsprop",
          .help = "Gradients divided by the root of their mean square (Hinton), with momentum.",
          .settings = {"optimizer.momentum"},
          .make =
              [](const OptimizerGroups& groups, const OptimizerChoice& choice) {
                const auto options = RMSpropOptions(0).momentum(choice.momentum);
                return make_spared<RMSprop>(groups, with_decay(options, choice));
              },
          .is = is_a<RMSprop>,
          .state = state_format<torch::optim::RMSpropParamState>([](auto& state, const auto& see) {
            see("step", state.step(), Need::Always);
            see("square_avg", state.square_avg(), Need::Always);
            see("momentum_buffer", state.momentum_buffer(), Need::Sometimes);
            see("grad_avg", state.grad_avg(), Need::Sometimes);
          })};
}

}  // namespace ronde::train
