#include "ronde/models/detail/resnet.h"

#include <map>

#include "ronde/models/entry.h"

namespace ronde::models {
namespace {

const std::map<std::string, detail::ResNetShape>& shapes() {
  static const std::map<std::string, detail::ResNetShape> all = {
      {"resnet18", {.blocks = {2, 2, 2, 2}}},
      {"resnet34", {.blocks = {3, 4, 6, 3}}},
      {"resnet50", {.blocks = {3, 4, 6, 3}, .bottleneck = true}},
      {"resnet50-goyal", {.blocks = {3, 4, 6, 3}, .bottleneck = true, .identity_start = true}},
      {"resnet101", {.blocks = {3, 4, 23, 3}, .bottleneck = true}},
      {"resnet152", {.blocks = {3, 8, 36, 3}, .bottleneck = true}},
      {"resnet18-cifar", {.blocks = {2, 2, 2, 2}, .small_stem = true}},
      {"resnet50-bigearthnet", {.blocks = {3, 4, 6, 3}, .bottleneck = true, .conv_bias = true, .pooled = 2}},
  };
  return all;
}

}  // namespace

ModelEntry resnet_entry() {
  return {.names = {"resnet18", "resnet34", "resnet50", "resnet50-goyal", "resnet101", "resnet152", "resnet18-cifar",
                    "resnet50-bigearthnet"},
          .help = "ResNets for pictures of ImageNet's size (He et al.), with variants for small pictures and bands.",
          .make = [](const ModelOptions& options) -> std::shared_ptr<Network> {
            return std::make_shared<detail::ResNet>(options, shapes().at(options.name));
          },
          .takes_filters = true,
          .has_blocks = true};
}

}  // namespace ronde::models
