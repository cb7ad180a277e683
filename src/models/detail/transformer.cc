#include "ronde/models/detail/transformer.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "ronde/models/recompute.h"

namespace ronde::models::detail {
namespace {

torch::nn::LayerNorm layer_norm(std::int64_t dimensions) {
  return torch::nn::LayerNorm(torch::nn::LayerNormOptions({dimensions}).eps(1e-6));
}

class Attention final : public Network {
 public:
  explicit Attention(const TransformerShape& shape)
      : heads_(shape.heads),
        qkv_(register_module("qkv", torch::nn::Linear(shape.dimensions, 3 * shape.dimensions))),
        proj_(register_module("proj", torch::nn::Linear(shape.dimensions, shape.dimensions))) {}

  torch::Tensor forward(torch::Tensor input) override {
    const std::int64_t batch = input.size(0), tokens = input.size(1), dimensions = input.size(2);
    const torch::Tensor qkv =
        qkv_->forward(input).view({batch, tokens, 3, heads_, dimensions / heads_}).permute({2, 0, 3, 1, 4});
    const torch::Tensor mixed = at::scaled_dot_product_attention(qkv[0], qkv[1], qkv[2]);
    return proj_->forward(mixed.transpose(1, 2).reshape({batch, tokens, dimensions}));
  }

 private:
  const std::int64_t heads_;
  torch::nn::Linear qkv_, proj_;
};

class FeedForward final : public Network {
 public:
  explicit FeedForward(std::int64_t dimensions)
      : fc1_(register_module("fc1", torch::nn::Linear(dimensions, 4 * dimensions))),
        fc2_(register_module("fc2", torch::nn::Linear(4 * dimensions, dimensions))) {}

  torch::Tensor forward(torch::Tensor input) override { return fc2_->forward(torch::gelu(fc1_->forward(input))); }

 private:
  torch::nn::Linear fc1_, fc2_;
};

class Block final : public Network {
 public:
  explicit Block(const TransformerShape& shape)
      : norm1_(register_module("norm1", layer_norm(shape.dimensions))),
        norm2_(register_module("norm2", layer_norm(shape.dimensions))),
        attn_(register_module("attn", std::make_shared<Attention>(shape))),
        mlp_(register_module("mlp", std::make_shared<FeedForward>(shape.dimensions))) {}

  torch::Tensor forward(torch::Tensor input) override {
    const torch::Tensor x = input + attn_->forward(norm1_->forward(input));
    return x + mlp_->forward(norm2_->forward(x));
  }

 private:
  torch::nn::LayerNorm norm1_, norm2_;
  std::shared_ptr<Attention> attn_;
  std::shared_ptr<FeedForward> mlp_;
};

// A module for its name alone: the patches' weights are called patch_embed.proj.
class Holder final : public torch::nn::Module {
 public:
  explicit Holder(torch::nn::Conv2d proj) { register_module("proj", std::move(proj)); }
};

void init(torch::nn::Module& network) {
  for (const auto& module : network.modules(false)) {
    auto* linear = module->as<torch::nn::Linear>();
    if (!linear) continue;
    torch::nn::init::normal_(linear->weight, 0.0, 0.02);
    torch::nn::init::zeros_(linear->bias);
  }
}

}  // namespace

std::int64_t best_patch(std::int64_t height, std::int64_t width) {
  constexpr std::int64_t kMostPatches = 64;
  const std::int64_t largest = std::gcd(height, width);
  for (std::int64_t patch = 1; patch < largest; ++patch)
    if (largest % patch == 0 && (height / patch) * (width / patch) <= kMostPatches) return patch;
  return largest;
}

Transformer::Transformer(const ModelOptions& options, const TransformerShape& shape) : recompute_(options.recompute) {
  const std::int64_t patch = shape.patch > 0 ? shape.patch : best_patch(options.height, options.width);
  const std::int64_t patches = (options.height / patch) * (options.width / patch);
  proj_ = torch::nn::Conv2d(torch::nn::Conv2dOptions(options.channels, shape.dimensions, patch).stride(patch));
  register_module("patch_embed", std::make_shared<Holder>(proj_));
  cls_token_ = register_parameter("cls_token", torch::empty({1, 1, shape.dimensions}).normal_(0.0, 0.02));
  pos_embed_ = register_parameter("pos_embed", torch::empty({1, patches + 1, shape.dimensions}).normal_(0.0, 0.02));
  torch::nn::Sequential blocks;
  for (std::int64_t i = 0; i < shape.depth; ++i) {
    auto block = std::make_shared<Block>(shape);
    blocks->push_back(block);
    blocks_.push_back(std::move(block));
  }
  register_module("blocks", blocks);
  norm_ = register_module("norm", layer_norm(shape.dimensions));
  head_ = register_module("head", torch::nn::Linear(shape.dimensions, options.classes));
  init(*this);
}

torch::Tensor Transformer::forward(torch::Tensor input) {
  const torch::Tensor patches = proj_->forward(input).flatten(2).transpose(1, 2);
  torch::Tensor x = torch::cat({cls_token_.expand({input.size(0), -1, -1}), patches}, 1) + pos_embed_;
  for (auto& block : blocks_) x = run_part(*block, x, recompute_);
  return head_->forward(norm_->forward(x).select(1, 0));
}

}  // namespace ronde::models::detail
