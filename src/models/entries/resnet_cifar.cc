#include <optional>
#include <string_view>

#include "ronde/base/text/text.h"
#include "ronde/models/detail/resnet.h"
#include "ronde/models/entry.h"

namespace ronde::models {
namespace {

constexpr std::string_view kPrefix = "resnet", kSuffix = "-cifar";
constexpr std::int64_t kMostBlocks = 200;  // of a stage: resnet1202, the deepest of the paper

// Blocks in each of three stages, of two convolutions each; besides them there are stem and head.
std::optional<std::int64_t> blocks_of(std::string_view name) {
  if (!name.starts_with(kPrefix)) return {};
  name.remove_prefix(kPrefix.size());
  if (name.ends_with(kSuffix)) name.remove_suffix(kSuffix.size());
  const auto layers = parse_number<std::int64_t>(name);
  if (!layers || *layers < 8 || *layers % 6 != 2 || *layers / 6 > kMostBlocks) return {};
  return *layers / 6;
}

// Without the suffix these are the networks for pictures of ImageNet's size.
bool is_imagenets(std::string_view name) {
  return name == "resnet50" || name == "resnet152";
}

}  // namespace

std::string other_network_of(const ModelOptions& options) {
  constexpr std::int64_t kSmall = 64;  // pixels: the stem of ImageNet's leaves a sixteenth of them to its first block
  if (!is_imagenets(options.name) || options.height > kSmall || options.width > kSmall) return {};
  return fmt::format(
      "model.name = {} is the network for pictures of ImageNet's size; that of as many layers for small "
      "pictures, with far fewer parameters, is {}{}",
      options.name, options.name, kSuffix);
}

ModelEntry resnet_cifar_entry() {
  return {.names = {"resnet20", "resnet32", "resnet44", "resnet50-cifar", "resnet56", "resnet110"},
          .help = "ResNets of 6n+2 layers for small pictures (He et al.), shortcuts without parameters.",
          .make = [](const ModelOptions& options) -> std::shared_ptr<Network> {
            const std::int64_t blocks = blocks_of(options.name).value();
            return std::make_shared<detail::ResNet>(
                options,
                detail::ResNetShape{
                    .blocks = {blocks, blocks, blocks}, .filters = 16, .small_stem = true, .padded_shortcuts = true});
          },
          .accepts = [](std::string_view name) { return blocks_of(name).has_value() && !is_imagenets(name); },
          .further = "resnetN-cifar for any N = 6n+2",
          .takes_filters = true,
          .has_blocks = true};
}

}  // namespace ronde::models
