#pragma once

#include <cstddef>
#include <string>

namespace ronde::train {

// What decides whether a whole step can be recorded and launched as one.
struct GraphFacts {
  std::string setting = "auto";  // train.graph
  bool on_gpu = false;
  std::string why_no_graphs = {};  // of this build; empty: it has them
  std::string optimizer = "sgd";   // optimizer.name,
  bool fused = true;               // and whether its steps need nothing of the host
  bool f16_on_host = false;        // overflows are looked for by the host
  bool local = false;              // train.sync_every
  int ranks = 1;
  // Of several ranks that exchange gradients:
  std::string why_not_nccl = {};     // comm::Group::why_not_nccl()
  std::string reduce = "average";    // train.reduce
  std::string compression = "none";  // train.compression
  bool synced_norms = false;         // model.norm
  bool traced_modules = false;       // trace.modules, trace.operators
  bool recompute = false;            // model.recompute
};

// Why not, in one sentence; empty: it can. Pure.
std::string why_no_graph(const GraphFacts& facts);

// Steps of a training are of two kinds, each recorded by itself: an ordinary step has none of the work of measuring in
// it, and a step that measures (train.noise_scale) is launched as one too.
enum class StepKind { Ordinary, Measured };
inline constexpr std::size_t kStepKinds = 2;

// How far the recording of one kind has come.
struct KindState {
  int runs = 0;           // steps that have run as they are, of batches that are alike
  bool recorded = false;  //
  bool refused = false;   // it could not be recorded
};

enum class StepAction {
  Run,     // as it is
  WarmUp,  // as it is, but as a recorded one exchanges gradients
  Record,  // and launch
  Launch,
};

// What to do with the next step of a kind. The first steps of all run as they are, which lets libraries choose their
// algorithms and optimizers make their state; a kind that comes when another was recorded needs only a warm-up step,
// for the kernels that it alone has. `fits`: its batch is like those of the steps before. Pure; the same on all ranks.
StepAction next_action(const KindState& kind, bool other_recorded, bool fits);

}  // namespace ronde::train
