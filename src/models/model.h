#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ronde/models/network.h"
#include "ronde/models/norm.h"

namespace ronde::models {

struct ModelOptions {
  std::string name = "resnet20";
  std::int64_t classes = 10;                           // outputs; unet: of each pixel; autoencoder: does not matter
  std::int64_t channels = 3, height = 32, width = 32;  // of an input
  std::int64_t filters = 0;  // channels of the first stage of a convolutional network; 0: as published
  bool conv_bias = false;    // resnet*, unet, autoencoder: convolutions that a norm follows have biases too
  bool recompute = false;    // resnet*, unet, transformer, mlp-deep: blocks are run again in the backward pass
  NormFactory norm = batch_norm();
  // Of one sample, for networks of a user: {64} for a row of 64 numbers. A built-in network has those above.
  std::vector<std::int64_t> input = {}, output = {};
};

struct ModelEntry;  // entry.h

// The network of that name, for inputs of shape [batch, channels, height, width], with fresh weights: the same ones
// after the same torch::manual_seed. Names of parameters are those of torchvision for ResNets.
//
//   mlp (512, 512), mlp-wide (4096, 4096), mlp-deep (200 layers of 128), lenet
//   resnet18|34|50|101|152       the ImageNet form; -cifar (18 alone): a stem for small images
//   resnet50-goyal               begins as Goyal et al. have it: residual blocks as identities (the last norm of each
//   is
//                                zero), and a head whose weights are small
//   resnet20|32|44|56|110        the CIFAR form of He et al., shortcuts without parameters; of any depth 6n+2 from 8 to
//                                1202: resnet38. Where a depth is ImageNet's too (50, 152): resnet50-cifar
//   resnet50-bigearthnet         biases, and a head on 2 x 2 features
//   unet                         a class for each pixel
//   lstm                         reads the rows of an image one after the other
//   transformer                  reads patches of an image
//   autoencoder                  gives back its input
//   torchscript:FILE             the module in the file, with its weights (torchscript.h)
//
// `more`: networks of a program or a plugin, besides those that are built in.
// FAILS WITH: BadInput for a name that is none (suggesting the nearest), an input too small, sizes that are not
// positive, recompute for a network without blocks.
std::shared_ptr<Network> make_model(const ModelOptions& options, std::span<const ModelEntry> more = {});

// ImageNet's network of 50 or 152 layers on small pictures, where there is one of that depth for them: a sentence that
// says so. Empty for any other. Pure.
std::string other_network_of(const ModelOptions& options);

// All that have names of their own; of families without an end the usual ones.
std::vector<std::string> model_names(std::span<const ModelEntry> more = {});
// Those that take `recompute`.
std::vector<std::string> model_names_with_blocks(std::span<const ModelEntry> more = {});

}  // namespace ronde::models
