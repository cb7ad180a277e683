#include "ronde/models/detail/mlp.h"
#include "ronde/models/entry.h"

namespace ronde::models {

ModelEntry mlp_deep_entry() {
  return {.names = {"mlp-deep"},
          .help = "200 layers of 128.",
          .make = [](const ModelOptions& options) -> std::shared_ptr<Network> {
            return std::make_shared<detail::Mlp>(options, std::vector<std::int64_t>(199, 128));
          },
          .has_blocks = true};
}

}  // namespace ronde::models
