#pragma once

#include <memory>

#include <torch/torch.h>

#include "ronde/base/settings.h"
#include "ronde/data/batch.h"
#include "ronde/data/source.h"
#include "ronde/models/loss.h"
#include "ronde/models/network.h"
#include "ronde/train/session.h"

namespace ronde::train {

// What a recipe is about: samples to learn from, samples held out, the network, and how wrong it is.
struct Task {
  std::unique_ptr<data::Source> samples, held_out;
  std::shared_ptr<models::Network> network;
  models::Loss loss;        // summed over samples, with label smoothing: what is minimised
  models::Loss plain_loss;  // summed over samples: what is reported
  bool channels_last = false;
};

// What data.*, model.* and train.label_smoothing ask for, with the same fresh weights on every rank, on the session's
// device. FAILS WITH: BadInput, System.
Task make_task(const Session& session);

// A part of a batch as the network takes it. The batch must stay.
struct Samples {
  torch::Tensor inputs, labels;
};
Samples samples_of(const data::Batch& batch, data::Range part, const Task& task, torch::Device device);

}  // namespace ronde::train
