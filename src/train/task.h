#pragma once

#include <memory>

#include <torch/torch.h>

#include "ronde/data/batch.h"
#include "ronde/data/source.h"
#include "ronde/models/loss.h"
#include "ronde/models/network.h"
#include "ronde/train/session.h"

namespace ronde::train {

// What a recipe is about: samples to learn from, samples held out, the network, and how wrong it is.
struct Task {
  std::unique_ptr<data::Source> samples;
  std::unique_ptr<data::Source> validation;  // none: epochs are judged by what is held out for testing
  std::unique_ptr<data::Source> held_out;    // for testing
  std::shared_ptr<models::Network> network = {};
  models::Loss loss = {};        // summed over samples, with label smoothing: what is minimised
  models::Loss plain_loss = {};  // summed over samples: what is reported
  bool smoothed = false;         // the two differ
  bool channels_last = false;
  bool has_norms = false;  // the network asked for norms, whatever it got

  data::Target target() const { return samples->kind().target; }
  const data::Source& after_epochs() const { return validation ? *validation : *held_out; }
};

// What data.*, model.* and train.label_smoothing ask for, with the same fresh weights on every rank, on the session's
// device. FAILS WITH: BadInput, also for a network that gives something else than data.target asks for; System.
Task make_task(const Session& session);

// Puts the weights of the file model.weights into the network of rank 0, where there is one; others are to get them
// from there. FAILS WITH: BadInput: no such file, or other tensors in it, says which; System.
void load_first_weights(const Session& session, Task& task);

// A part of a batch as the network takes it. The batch must stay.
struct Samples {
  torch::Tensor inputs;
  torch::Tensor targets;  // classes [n]; labels [n, classes], 0 or 1; masks [n, height, width]; or the inputs
};
Samples samples_of(const data::Batch& batch, data::Range part, const Task& task, torch::Device device);

}  // namespace ronde::train
