#pragma once

#include <cstdint>
#include <memory>

#include <torch/torch.h>

#include "ronde/bench/comm/rank.h"
#include "ronde/models/loss.h"
#include "ronde/models/network.h"

namespace ronde::bench::detail {

// What a training step of `ronde bench train` is made of: one network and one batch of a rank.
struct Workload {
  std::shared_ptr<models::Network> network = {};
  torch::Tensor inputs = {}, targets = {};
  models::Loss loss = {};  // the mean over samples
};

// Of options.model: a network of the promises, on random numbers; or any other that settings may name (of a plugin, or
// of a file), on the first samples of data.name, with its loss. The same weights on every rank, other samples on each.
// FAILS WITH: BadInput.
Workload workload_of(const RankOptions& options, int rank);

}  // namespace ronde::bench::detail
