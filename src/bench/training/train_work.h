#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>

#include <torch/torch.h>

#include "ronde/bench/comm/rank.h"
#include "ronde/bench/detail/command.h"
#include "ronde/bench/training/workload.h"
#include "ronde/comm/engine.h"
#include "ronde/parallel/distributed_optimizer.h"
#include "ronde/parallel/gradient_scope.h"
#include "ronde/trace/span.h"

namespace ronde::bench::detail {

// What one rank does for `ronde bench train`: steps on random data that is made once. Variants:
//   alone         no exchange; the C library's memory, as torch has it
//   alone_arena   no exchange; ronde's arena
//   ours          DistributedOptimizer, the arena, gradients in memory that the ranks share
//   ours_after    the same, with the exchange after the backward pass
//   traced        as ours, with a recorder that records when it is asked to
// Command::what:
//   step           microseconds a step, of the slowest rank
//   recorded       the same while a trace is recorded; of `traced` alone
//   pss            most bytes that a rank used within a few steps, of the worst rank
//   fusion_bytes   what comm.fusion_bytes is
class TrainWork {
 public:
  // FAILS WITH: BadInput for a network or variant that is none; as the engine.
  TrainWork(const RankOptions& options, std::shared_ptr<comm::Bootstrap> bootstrap);
  ~TrainWork();

  // FAILS WITH: Bug when ranks have different weights; as the engine.
  double answer(const Command& command);

 private:
  void step();
  void start_recorder();
  double worst(double mine);
  void check_weights();

  const std::shared_ptr<comm::Bootstrap> bootstrap_;
  const double fusion_bytes_;
  const bool traced_;
  std::filesystem::path trace_;  // its file, which goes with it
  std::unique_ptr<trace::Recorder> recorder_;
  std::optional<trace::Scope> scope_;
  std::int64_t steps_ = 0;
  std::unique_ptr<comm::Engine> engine_;              // none: alone
  std::unique_ptr<parallel::GradientMemory> memory_;  // none: alone
  Workload work_;
  std::unique_ptr<torch::optim::SGD> sgd_;
  std::unique_ptr<parallel::DistributedOptimizer> optimizer_;
};

}  // namespace ronde::bench::detail
