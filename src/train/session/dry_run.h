#pragma once

#include <cstdint>
#include <string>

#include "ronde/data/source.h"
#include "ronde/data/training/preparation.h"
#include "ronde/train/limits/memory_model.h"

namespace ronde {
class Settings;
}

namespace ronde::train {

// What is known of a training before it runs. Bytes are those of one rank.
struct DryRun {
  data::SampleKind kind = {};
  data::Preparation preparation = data::Preparation::Drawn;
  std::int64_t samples = 0, held_out = 0;  // how many there are
  std::int64_t parameters = 0;             // how many
  double parameter_bytes = 0, buffer_bytes = 0, gradient_bytes = 0;
  double optimizer_bytes = 0;  // its state, and whatever else stays from step to step
  double program_bytes = 0;    // of the process besides tensors: libraries, and what they keep
  Line activations = {};       // kept for the backward pass, by the samples of a pass
  StepMemory step = {};        // all tensors of a step, by the samples of a pass
  double flops = 0;            // of the forward pass of one sample
  Line touched = {};           // bytes read and written by the forward pass, by its samples
};

// Trains a few steps with very few samples on the CPU, with everything that the settings ask for (optimizer, precision,
// accumulation, recomputation), and watches what tensors are made. So nothing needs to be known of any network or
// optimizer: what it says for a batch of hundreds follows from what two small ones took.
//
// Takes as long as a few steps, and the memory of at most 32 samples; of large ones, of four. Weights, files and other
// ranks are not touched. REQUIRES: no GPU is visible to this process (CUDA_VISIBLE_DEVICES is empty, or there is none).
// FAILS WITH: BadInput, System: what cannot be trained, in the words of `ronde train`.
DryRun dry_run(const Settings& settings);

// Whether model.recompute is something that the network of model.name can do.
bool can_recompute(const Settings& settings);

}  // namespace ronde::train
