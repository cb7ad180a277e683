#include "ronde/models/detail/mlp.h"

#include "ronde/models/entry.h"

namespace ronde::models {

ModelEntry mlp_entry() {
  return {.names = {"mlp", "mlp-wide"},
          .help = "Two hidden layers of 512; mlp-wide: of 4096.",
          .make = [](const ModelOptions& options) -> std::shared_ptr<Network> {
            const std::int64_t width = options.name == "mlp-wide" ? 4096 : 512;
            return std::make_shared<detail::Mlp>(options, std::vector<std::int64_t>{width, width});
          }};
}

}  // namespace ronde::models
