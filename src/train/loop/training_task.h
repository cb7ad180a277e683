#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <torch/torch.h>

#include "ronde/data/batch.h"
#include "ronde/data/source.h"
#include "ronde/models/loss.h"
#include "ronde/models/network.h"
#include "ronde/train/loop/results.h"
#include "ronde/train/registry.h"
#include "ronde/train/session.h"

// What the trainer makes of a recipe or of a user's task.
namespace ronde::train {

// What a recipe is about: samples to learn from, samples held out, the network, and how wrong it is.
struct Task {
  std::unique_ptr<data::Source> samples;
  std::unique_ptr<data::Source> validation;  // none: epochs are judged by what is held out for testing
  std::unique_ptr<data::Source> held_out;    // for testing
  std::shared_ptr<models::Network> network = {};
  models::Loss loss = {};                   // summed over samples, with label smoothing: what is minimised
  models::Loss plain_loss = {};             // summed over samples: what is reported
  bool smoothed = false;                    // the two differ
  bool own_loss = false;                    // they are a user's
  std::int64_t ignored = -1;                // train.ignore_index: see ignore_class()
  std::vector<MeasureEntry> measures = {};  // a user's
  bool channels_last = false;
  bool has_norms = false;  // the network asked for norms, whatever it got

  std::vector<torch::Tensor> trained() const;  // parameters that model.freeze leaves to the optimizer
  data::Target target() const { return samples->kind().target; }
  Criterion criterion() const { return {target(), own_loss}; }
  const data::Source& after_epochs() const { return validation ? *validation : *held_out; }
};

// What data.*, model.* and train.label_smoothing ask for, with the same fresh weights on every rank, on the session's
// device. FAILS WITH: BadInput, also for a network that gives something else than data.target asks for; System.
Task make_task(const Session& session);

// Puts the weights that model.weights names, a file or a checkpoint, into the network of rank 0; others are to get them
// from there. Of a checkpoint with a moving average it takes that. Of weights for another number of classes the head is
// left out, and the log says so. FAILS WITH: BadInput: no such file, or other tensors in it, says which; System.
void load_first_weights(const Session& session, Task& task);

// A part of a batch as the network takes it. The batch must stay.
struct Samples {
  torch::Tensor inputs;
  // Classes [n]; labels [n, classes], 0 or 1; masks [n, height, width]; numbers [n, ...]; or the inputs.
  torch::Tensor targets;
};
std::vector<std::int64_t> with_samples(std::int64_t samples, const data::Shape& shape);  // [samples, ...]
data::Shape target_shape(const data::SampleKind& kind);                                  // of the targets of one sample
Samples samples_of(const data::Batch& batch, data::Range part, const Task& task, torch::Device device);

}  // namespace ronde::train
