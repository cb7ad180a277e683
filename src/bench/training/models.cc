#include "ronde/bench/training/models.h"

#include <algorithm>
#include <array>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"

namespace ronde::bench::detail {
namespace {

using Parameters = std::vector<Parameter>;
using Extent = std::int64_t;

void add_convolution(Parameters& to, const std::string& name, Extent out, Extent in, Extent kernel) {
  to.push_back({name + ".weight", {out, in, kernel, kernel}});
}

// Batch norm and layer norm alike.
void add_norm(Parameters& to, const std::string& name, Extent width) {
  to.push_back({name + ".weight", {width}});
  to.push_back({name + ".bias", {width}});
}

void add_linear(Parameters& to, const std::string& name, Extent out, Extent in) {
  to.push_back({name + ".weight", {out, in}});
  to.push_back({name + ".bias", {out}});
}

void add_bottleneck(Parameters& to, const std::string& name, Extent in, Extent width, bool first) {
  constexpr Extent kExpansion = 4;
  add_convolution(to, name + ".conv1", width, in, 1);
  add_norm(to, name + ".bn1", width);
  add_convolution(to, name + ".conv2", width, width, 3);
  add_norm(to, name + ".bn2", width);
  add_convolution(to, name + ".conv3", width * kExpansion, width, 1);
  add_norm(to, name + ".bn3", width * kExpansion);
  if (!first) return;
  add_convolution(to, name + ".downsample.0", width * kExpansion, in, 1);
  add_norm(to, name + ".downsample.1", width * kExpansion);
}

Parameters resnet50() {
  constexpr std::array kBlocks{3, 4, 6, 3};
  Parameters all;
  add_convolution(all, "conv1", 64, 3, 7);
  add_norm(all, "bn1", 64);
  Extent in = 64, width = 64;
  for (std::size_t layer = 0; layer < kBlocks.size(); ++layer, width *= 2)
    for (int block = 0; block < kBlocks[layer]; ++block) {
      add_bottleneck(all, fmt::format("layer{}.{}", layer + 1, block), in, width, block == 0);
      in = width * 4;
    }
  add_linear(all, "fc", 1000, in);
  return all;
}

void add_bert_layer(Parameters& to, const std::string& name, Extent width) {
  for (const char* part : {"query", "key", "value"})
    add_linear(to, fmt::format("{}.attention.self.{}", name, part), width, width);
  add_linear(to, name + ".attention.output.dense", width, width);
  add_norm(to, name + ".attention.output.LayerNorm", width);
  add_linear(to, name + ".intermediate.dense", 4 * width, width);
  add_linear(to, name + ".output.dense", width, 4 * width);
  add_norm(to, name + ".output.LayerNorm", width);
}

Parameters bert_base() {
  constexpr Extent kWidth = 768, kWords = 30522, kPositions = 512;
  Parameters all{{"embeddings.word_embeddings.weight", {kWords, kWidth}},
                 {"embeddings.position_embeddings.weight", {kPositions, kWidth}},
                 {"embeddings.token_type_embeddings.weight", {2, kWidth}}};
  add_norm(all, "embeddings.LayerNorm", kWidth);
  for (int layer = 0; layer < 12; ++layer) add_bert_layer(all, fmt::format("encoder.layer.{}", layer), kWidth);
  add_linear(all, "pooler.dense", kWidth, kWidth);
  return all;
}

Parameters many_small() {
  Parameters all;
  for (int i = 0; i < 4000; ++i) all.push_back({fmt::format("small.{}", i), {4}});
  return all;
}

struct Model {
  std::string_view name;
  Parameters (*parameters)();
};
constexpr auto kModels =
    std::to_array<Model>({{"resnet50", resnet50}, {"bert-base", bert_base}, {"many-small", many_small}});

}  // namespace

std::vector<Parameter> parameters_of(std::string_view model) {
  const auto found = std::ranges::find(kModels, model, &Model::name);
  if (found != kModels.end()) return found->parameters();
  throw Error::bad_input("unknown model '{}'; choose one of {}", model, join(model_names(), ", "));
}

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const Model& model : kModels) names.emplace_back(model.name);
  return names;
}

std::size_t elements_of(const std::vector<Parameter>& parameters) {
  std::size_t elements = 0;
  for (const Parameter& parameter : parameters) elements += parameter.shape.elements();
  return elements;
}

}  // namespace ronde::bench::detail
