#include "ronde/models/model.h"

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/models/costs.h"
#include "ronde/models/detail/transformer.h"
#include "ronde/models/tensor_map.h"

namespace ronde::models {
namespace {

struct Published {
  ModelOptions options;
  std::int64_t parameters;
};

const ModelOptions kImageNet = {.classes = 1000, .height = 224, .width = 224};

Published imagenet(std::string name, std::int64_t parameters) {
  ModelOptions options = kImageNet;
  options.name = std::move(name);
  return {options, parameters};
}

TEST(Model, HasAsManyParametersAsPublished) {
  const std::vector<Published> all = {
      imagenet("resnet18", 11'689'512),
      imagenet("resnet34", 21'797'672),
      imagenet("resnet50", 25'557'032),
      imagenet("resnet50-goyal", 25'557'032),
      imagenet("resnet101", 44'549'160),
      imagenet("resnet152", 60'192'808),
      {{.name = "resnet20"}, 269'722},
      {{.name = "resnet32"}, 464'154},
      {{.name = "resnet44"}, 658'586},
      {{.name = "resnet56"}, 853'018},
      {{.name = "resnet110"}, 1'727'962},
      {{.name = "resnet50-cifar"}, 755'802},
      {{.name = "resnet8"}, 75'290},
      {{.name = "resnet1202"}, 19'421'274},
      {{.name = "resnet18-cifar"}, 11'173'962},
      {{.name = "resnet50-bigearthnet", .classes = 43, .channels = 12, .height = 120, .width = 120}, 23'915'115},
      {{.name = "unet", .classes = 1}, 31'037'633},
      {{.name = "lenet", .channels = 1, .height = 28, .width = 28}, 431'080},
      {{.name = "mlp-wide", .channels = 1, .height = 28, .width = 28}, 784 * 4096 + 4096 + 4096 * 4097 + 40970},
      {{.name = "mlp-deep", .channels = 1, .height = 28, .width = 28}, 784 * 128 + 128 + 198 * 128 * 129 + 1290},
  };
  for (const Published& model : all)
    EXPECT_EQ(count_parameters(*make_model(model.options)), model.parameters) << model.options.name;
}

// Of 6n+2 layers: what the stem, three stages of 2n convolutions of 3 x 3 and the head add up to.
struct CifarCounts {
  std::int64_t parameters = 0, products = 0;
};
CifarCounts cifar_counts(std::int64_t layers) {
  const std::int64_t blocks = (layers - 2) / 6;
  CifarCounts counts;
  const auto convolution = [&](std::int64_t in, std::int64_t out, std::int64_t side) {
    counts.parameters += in * out * 9 + 2 * out;  // and its norm
    counts.products += in * out * 9 * side * side;
  };
  convolution(3, 16, 32);
  for (std::int64_t stage = 0, in = 16, out = 16, side = 32; stage < 3; ++stage, out *= 2, side /= 2)
    for (std::int64_t i = 0; i < 2 * blocks; ++i) convolution(std::exchange(in, out), out, side);
  counts.parameters += 64 * 10 + 10;
  counts.products += 64 * 10;
  return counts;
}

TEST(Model, CifarResNetsAreOfAnyDepth) {
  for (const std::int64_t layers : {8, 14, 20, 26, 32, 38, 44, 50, 56, 62, 110, 152, 164}) {
    const std::string name = fmt::format("resnet{}-cifar", layers);
    const auto network = make_model({.name = name});
    const CifarCounts counts = cifar_counts(layers);
    EXPECT_EQ(count_parameters(*network), counts.parameters) << name;
    if (layers != 50 && layers != 152) {
      EXPECT_EQ(count_parameters(*make_model({.name = fmt::format("resnet{}", layers)})), counts.parameters) << name;
    }
    const LayerCost whole = total(costs(*network, {3, 32, 32}, 1));  // norms and the like are little beside products
    EXPECT_NEAR(static_cast<double>(whole.flops) / (2.0 * static_cast<double>(counts.products)), 1, 0.05) << name;
  }
}

TEST(Model, OfTwoNetworksOfOneDepthItSaysWhichItIs) {
  EXPECT_EQ(other_network_of({.name = "resnet50"}),
            "model.name = resnet50 is the network for pictures of ImageNet's size; that of as many layers for small "
            "pictures, with far fewer parameters, is resnet50-cifar");
  EXPECT_NE(other_network_of({.name = "resnet152", .height = 64, .width = 64}), "");
  EXPECT_EQ(other_network_of({.name = "resnet50", .height = 224, .width = 224}), "");
  for (const char* name : {"resnet50-cifar", "resnet56", "resnet18", "resnet50-goyal", "mlp"})
    EXPECT_EQ(other_network_of({.name = name}), "") << name;
}

TEST(Model, TransformerHasAsManyParametersAsViTTiny) {
  const detail::Transformer network(kImageNet, {.dimensions = 192, .depth = 12, .heads = 3, .patch = 16});
  EXPECT_EQ(count_parameters(network), 5'717'416);
}

TEST(Model, CutsImagesIntoWholePatches) {
  EXPECT_EQ(detail::best_patch(28, 28), 4);
  EXPECT_EQ(detail::best_patch(32, 32), 4);
  EXPECT_EQ(detail::best_patch(224, 224), 28);
  EXPECT_EQ(detail::best_patch(120, 60), 12);
  EXPECT_EQ(detail::best_patch(31, 30), 1);  // nothing else divides both
  EXPECT_EQ(detail::best_patch(4, 4), 1);
}

// Every network takes any number of channels, learns in all of its parameters, and has outputs of the promised shape.
TEST(Model, EveryOneLearnsFromTwelveChannels) {
  for (const std::string& name : model_names()) {
    if (name == "resnet101" || name == "resnet152" || name == "resnet110" || name == "resnet34") continue;  // slow
    SCOPED_TRACE(name);
    torch::manual_seed(1);
    const auto network = make_model({.name = name, .classes = 5, .channels = 12, .height = 33, .width = 34});
    const torch::Tensor output = network->forward(torch::randn({2, 12, 33, 34}));
    const std::vector<std::int64_t> shape = name == "unet"          ? std::vector<std::int64_t>{2, 5, 33, 34}
                                            : name == "autoencoder" ? std::vector<std::int64_t>{2, 12, 33, 34}
                                                                    : std::vector<std::int64_t>{2, 5};
    EXPECT_EQ(output.sizes().vec(), shape);
    EXPECT_TRUE(output.isfinite().all().item<bool>());
    output.square().sum().backward();
    for (const auto& item : network->named_parameters())
      EXPECT_TRUE(item.value().grad().defined() && item.value().grad().isfinite().all().item<bool>()) << item.key();
  }
}

TEST(Model, SameSeedSameWeights) {
  for (const char* name : {"mlp", "resnet20", "unet", "lstm", "transformer", "autoencoder"}) {
    const auto make = [&](int seed) {
      torch::manual_seed(seed);
      return state_of(*make_model({.name = name}));
    };
    const TensorMap one = make(3), same = make(3), other = make(4);
    bool differs = false;
    for (const auto& [key, tensor] : one) {
      EXPECT_TRUE(tensor.equal(same.at(key))) << name << " " << key;
      differs |= !tensor.equal(other.at(key));
    }
    EXPECT_TRUE(differs) << name;
  }
}

TEST(Model, NamesAreTorchvisions) {
  const TensorMap state = state_of(*make_model({.name = "resnet50"}));
  for (const char* name : {"conv1.weight", "bn1.running_mean", "bn1.num_batches_tracked", "layer1.0.conv1.weight",
                           "layer1.0.downsample.0.weight", "layer1.0.downsample.1.running_var", "layer3.5.conv3.weight",
                           "layer4.2.bn3.bias", "fc.weight", "fc.bias"})
    EXPECT_TRUE(state.contains(name)) << name;
  EXPECT_EQ(state.size(), 320u);  // as in torchvision
}

TEST(Model, NormsComeFromTheFactory) {
  std::vector<std::int64_t> asked;
  const NormFactory counting = [&](std::int64_t channels) {
    asked.push_back(channels);
    return torch::nn::AnyModule(torch::nn::BatchNorm2d(channels));
  };
  make_model({.name = "resnet18", .norm = counting});
  EXPECT_EQ(asked.size(), 20u);
  EXPECT_EQ(asked.front(), 64);
  EXPECT_EQ(asked.back(), 512);

  const auto without = make_model({.name = "resnet20", .norm = no_norm()});
  for (const auto& [name, tensor] : state_of(*without)) EXPECT_EQ(name.find("bn"), std::string::npos) << name;
  EXPECT_EQ(without->forward(torch::randn({1, 3, 32, 32})).sizes(), torch::IntArrayRef({1, 10}));
}

TEST(Model, ConvolutionsStartAsHeDid) {
  torch::manual_seed(1);
  const auto state = state_of(*make_model({.name = "resnet18"}));
  const torch::Tensor& weight = state.at("layer2.0.conv1.weight");  // 128 outputs of 3 x 3
  EXPECT_NEAR(weight.std().item<double>(), std::sqrt(2.0 / (128 * 9)), 0.001);
  EXPECT_NEAR(weight.mean().item<double>(), 0, 0.001);
}

// Goyal et al.: residual blocks begin as identities, and the head with small weights.
TEST(Model, GoyalsBeginsWithBlocksThatAreIdentities) {
  torch::manual_seed(1);
  const auto network = make_model({.name = "resnet50-goyal", .classes = 100});
  const auto state = state_of(*network), usual = state_of(*make_model({.name = "resnet50", .classes = 100}));
  int blocks = 0;
  for (const auto& [name, tensor] : state) {
    if (!name.starts_with("layer") || !name.ends_with("weight") || name.find(".bn") == std::string::npos) continue;
    const bool last = name.ends_with("bn3.weight");
    EXPECT_TRUE(tensor.eq(last ? 0.0 : 1.0).all().item<bool>()) << name;
    blocks += last;
  }
  EXPECT_EQ(blocks, 16);
  EXPECT_NEAR(state.at("fc.weight").std().item<double>(), 0.01, 0.001);
  EXPECT_TRUE(state.at("fc.bias").eq(0).all().item<bool>());
  EXPECT_TRUE(usual.at("layer1.0.bn3.weight").eq(1).all().item<bool>());
  EXPECT_EQ(state.size(), usual.size());
  // A block passes on what its shortcut gives.
  const auto block = std::dynamic_pointer_cast<Network>(network->named_modules()["layer1.1"]);
  const torch::Tensor input = torch::rand({2, 256, 8, 8});
  EXPECT_TRUE(block->forward(input).equal(input));
  EXPECT_NO_THROW(make_model({.name = "resnet50-goyal", .norm = no_norm()}));
}

TEST(Model, DeepOneKeepsItsSignal) {
  torch::manual_seed(1);
  const auto network = make_model({.name = "mlp-deep", .channels = 1, .height = 28, .width = 28});
  EXPECT_GT(network->forward(torch::randn({4, 1, 28, 28})).abs().max().item<double>(), 1e-4);
}

TEST(Model, ChannelsLastChangesTheLayoutAndNotTheResult) {
  torch::manual_seed(1);
  const auto network = make_model({.name = "resnet18", .filters = 8});
  network->eval();
  const torch::Tensor input = torch::randn({2, 3, 32, 32});
  const torch::Tensor before = network->forward(input);
  to_channels_last(*network);
  for (const auto& item : network->named_parameters())
    if (item.value().dim() == 4) {
      EXPECT_TRUE(item.value().is_contiguous(torch::MemoryFormat::ChannelsLast)) << item.key();
    }
  EXPECT_TRUE(torch::allclose(network->forward(input), before, 1e-4, 1e-5));
}

std::string failure(const ModelOptions& options) {
  try {
    make_model(options);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::BadInput);
    return error.what();
  }
  return "";
}

TEST(Model, UnknownNameSuggestsTheNearest) {
  EXPECT_NE(failure({.name = "resnt50"}).find("unknown model 'resnt50' (did you mean resnet50?); choose one of mlp"),
            std::string::npos);
  EXPECT_EQ(failure({.name = "a-quite-different-thing"}).find("did you mean"), std::string::npos);
  for (const char* name : {"resnet45", "resnet2", "resnet1208", "resnet18-cifa", "resnet-cifar", "resnet34-cifar"})
    EXPECT_NE(failure({.name = name}).find(", resnetN-cifar for any N = 6n+2"), std::string::npos) << name;
}

TEST(Model, RefusesSizesThatCannotBe) {
  EXPECT_EQ(failure({.name = "mlp", .classes = 0}), "model mlp: the number of classes must be at least 1, got 0");
  EXPECT_EQ(failure({.name = "lenet", .height = 12, .width = 40}),
            "model lenet needs inputs of at least 16 x 16, got 12 x 40");
  EXPECT_EQ(failure({.name = "unet", .height = 8}), "model unet needs inputs of at least 16 x 16, got 8 x 32");
  EXPECT_EQ(failure({.name = "mlp", .filters = 8}), "model mlp does not support model.filters = 8");
}

}  // namespace
}  // namespace ronde::models
