#pragma once

#include <optional>
#include <string>
#include <vector>

#include <torch/torch.h>

#include "ronde/comm/group.h"
#include "ronde/parallel/distributed_optimizer.h"
#include "ronde/train/gpu/graph_rules.h"
#include "ronde/train/gpu/graphed_step.h"
#include "ronde/train/optim/fused.h"
#include "ronde/train/session.h"

namespace ronde::train {

// The steps of a training as CUDA graphs, where train.graph asks for them and nothing speaks against it; elsewhere they
// run as they are. Several ranks exchange the gradients of recorded steps by NCCL, in a group of their own.
class RecordedSteps {
 public:
  // What the training says of itself: `fused` is its optimizer, if it is one. The rest of the facts is found here.
  // REQUIRES: session and optimizer outlive this; all ranks make one. FAILS WITH: BadInput: train.graph is on, and
  // steps cannot be recorded.
  RecordedSteps(const Session& session, DistributedOptimizer& optimizer, Fused* fused, GraphFacts facts);

  // FAILS WITH: as GraphedStep::run().
  torch::Tensor run(const StepBatch& batch, StepKind kind, const GraphedStep::Work& work);

  // Weights that recorded steps have made are those of all ranks. Asked once a GPU has got so far.
  // FAILS WITH: System when exchanges between ranks were given up.
  void check_exchange() const;

 private:
  GraphedStep::Hooks hooks();
  std::string why_no_fixed_exchange() const;
  void launched();
  comm::InStream in_stream(std::size_t number, const std::vector<torch::Tensor>& gradients) const;
  device::Event reduce_in_stream(std::size_t number, const std::vector<torch::Tensor>& gradients,
                                 const device::Event& made) const;

  const Session& session_;
  DistributedOptimizer& optimizer_;
  Fused* const fused_;
  std::optional<comm::Group> exchange_;  // several ranks: for what recorded steps exchange, and nothing else
  std::optional<GraphedStep> graph_;
};

}  // namespace ronde::train
