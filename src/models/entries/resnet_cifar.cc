#include "ronde/base/text/text.h"
#include "ronde/models/detail/resnet.h"
#include "ronde/models/entry.h"

namespace ronde::models {

ModelEntry resnet_cifar_entry() {
  return {.names = {"resnet20", "resnet32", "resnet44", "resnet56", "resnet110"},
          .help = "ResNets of 6n+2 layers for small pictures (He et al.), shortcuts without parameters.",
          .make = [](const ModelOptions& options) -> std::shared_ptr<Network> {
            const auto layers = parse_number<std::int64_t>(options.name.substr(std::string("resnet").size()));
            // Three stages of blocks of two convolutions, stem and head.
            const std::int64_t blocks = (layers.value() - 2) / 6;
            return std::make_shared<detail::ResNet>(
                options,
                detail::ResNetShape{
                    .blocks = {blocks, blocks, blocks}, .filters = 16, .small_stem = true, .padded_shortcuts = true});
          },
          .takes_filters = true,
          .has_blocks = true};
}

}  // namespace ronde::models
