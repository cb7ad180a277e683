#include "ronde/train/optim/entry.h"
#include "ronde/train/optim/fused.h"

namespace ronde::train {

OptimizerEntry adagrad_entry() {
  using torch::optim::Adagrad;
  using torch::optim::AdagradOptions;
  return {.name = "adagrad",
          .help = "Gradients divided by the root of the sum of their squares (Duchi et al.).",
          .make =
              [](const OptimizerGroups& groups, const OptimizerChoice& choice) {
                return make_spared<Adagrad>(groups, with_decay(AdagradOptions(0), choice));
              },
          .make_fused =
              [](const OptimizerGroups& groups, const OptimizerChoice& choice) {
                return make_spared<FusedAdagrad>(groups, with_decay(AdagradOptions(0), choice));
              },
          .has_fused = has_fused_adagrad,
          .is = is_a<Adagrad>,
          .state = state_format<torch::optim::AdagradParamState>([](auto& state, const auto& see) {
            see("step", state.step(), Need::Always);
            see("sum", state.sum(), Need::Always);
          })};
}

}  // namespace ronde::train
