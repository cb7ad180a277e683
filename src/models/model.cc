#include "ronde/models/model.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"
#include "ronde/models/detail/autoencoder.h"
#include "ronde/models/detail/lenet.h"
#include "ronde/models/detail/lstm.h"
#include "ronde/models/detail/mlp.h"
#include "ronde/models/detail/resnet.h"
#include "ronde/models/detail/transformer.h"
#include "ronde/models/detail/unet.h"

namespace ronde::models {
namespace {

struct Entry {
  std::string name;
  std::function<std::shared_ptr<Network>(const ModelOptions&)> make;
  bool takes_filters = false;
  bool has_blocks = false;  // that recompute can run again
};

template <class Net>
Entry plain(std::string name, bool takes_filters = false, bool has_blocks = false) {
  return {std::move(name), [](const ModelOptions& options) { return std::make_shared<Net>(options); }, takes_filters,
          has_blocks};
}
Entry mlp(std::string name, std::vector<std::int64_t> hidden, bool has_blocks = false) {
  return {std::move(name),
          [hidden = std::move(hidden)](const ModelOptions& options) {
            return std::make_shared<detail::Mlp>(options, hidden);
          },
          false, has_blocks};
}
Entry resnet(std::string name, detail::ResNetShape shape) {
  return {std::move(name),
          [shape = std::move(shape)](const ModelOptions& options) {
            return std::make_shared<detail::ResNet>(options, shape);
          },
          true, true};
}
Entry cifar_resnet(int layers) {
  const std::int64_t blocks = (layers - 2) / 6;  // three stages of blocks of two convolutions, stem and head
  return resnet("resnet" + std::to_string(layers),
                {.blocks = {blocks, blocks, blocks}, .filters = 16, .small_stem = true, .padded_shortcuts = true});
}

std::vector<Entry> entries() {
  return {
      mlp("mlp", {512, 512}),
      mlp("mlp-wide", {4096, 4096}),
      mlp("mlp-deep", std::vector<std::int64_t>(199, 128), true),
      plain<detail::LeNet>("lenet"),
      resnet("resnet18", {.blocks = {2, 2, 2, 2}}),
      resnet("resnet34", {.blocks = {3, 4, 6, 3}}),
      resnet("resnet50", {.blocks = {3, 4, 6, 3}, .bottleneck = true}),
      resnet("resnet50-goyal", {.blocks = {3, 4, 6, 3}, .bottleneck = true, .identity_start = true}),
      resnet("resnet101", {.blocks = {3, 4, 23, 3}, .bottleneck = true}),
      resnet("resnet152", {.blocks = {3, 8, 36, 3}, .bottleneck = true}),
      resnet("resnet18-cifar", {.blocks = {2, 2, 2, 2}, .small_stem = true}),
      cifar_resnet(20),
      cifar_resnet(32),
      cifar_resnet(44),
      cifar_resnet(56),
      cifar_resnet(110),
      resnet("resnet50-bigearthnet", {.blocks = {3, 4, 6, 3}, .bottleneck = true, .conv_bias = true, .pooled = 2}),
      plain<detail::UNet>("unet", true, true),
      plain<detail::Lstm>("lstm"),
      plain<detail::Transformer>("transformer", false, true),
      plain<detail::Autoencoder>("autoencoder", true),
  };
}

Error unknown(const std::string& name) {
  const auto names = model_names();
  const auto near = nearest(name, names);
  return Error::bad_input("unknown model '{}'{}; choose one of {}", name,
                          near ? fmt::format(" (did you mean {}?)", *near) : std::string(), join(names, ", "));
}

void check_sizes(const ModelOptions& options) {
  const auto positive = [&](const char* what, std::int64_t value) {
    if (value < 1) throw Error::bad_input("model {}: {} must be at least 1, got {}", options.name, what, value);
  };
  positive("the number of classes", options.classes);
  positive("the number of channels", options.channels);
  positive("the height of the input", options.height);
  positive("the width of the input", options.width);
}

}  // namespace

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (Entry& entry : entries()) names.push_back(std::move(entry.name));
  return names;
}

std::vector<std::string> model_names_with_blocks() {
  std::vector<std::string> names;
  for (Entry& entry : entries())
    if (entry.has_blocks) names.push_back(std::move(entry.name));
  return names;
}

std::shared_ptr<Network> make_model(const ModelOptions& options) {
  const auto all = entries();
  const auto entry = std::ranges::find(all, options.name, &Entry::name);
  if (entry == all.end()) throw unknown(options.name);
  check_sizes(options);
  if (options.filters < 0 || (options.filters > 0 && !entry->takes_filters))
    throw Error::bad_input("model {} does not support model.filters = {}", options.name, options.filters);
  if (options.recompute && !entry->has_blocks)
    throw Error::bad_input("model {} has no blocks for model.recompute; use one of {}", options.name,
                           join(model_names_with_blocks(), ", "));
  return entry->make(options);
}

}  // namespace ronde::models
