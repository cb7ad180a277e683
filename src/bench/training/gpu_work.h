#pragma once

#include <memory>

#include "ronde/bench/comm/rank.h"
#include "ronde/bench/detail/command.h"
#include "ronde/comm/bootstrap.h"

namespace ronde::bench::detail {

// What one rank does for `ronde bench train --device cuda`: steps of a network in bf16 with the channels last, on
// random pictures that are on the GPU already. Variants:
//   gpu_alone   the network, a fused optimizer and a graph of the whole step: no session, no engine
//   gpu         Learner, as `ronde train` has it
//   gpu_eager   the same, launched piece by piece (train.graph = off)
// Command::what:
//   step        microseconds a step
//   recorded    the same while a trace is recorded, GPU and all; not of gpu_alone
//   first       microseconds from the start of the process to the end of the first step
class GpuWork {
 public:
  // FAILS WITH: BadInput for a variant that is none, or where there is no GPU; as the engine.
  GpuWork(const RankOptions& options, std::shared_ptr<comm::Bootstrap> bootstrap);
  ~GpuWork();

  double answer(const Command& command);

  struct Steps;  // of a variant

 private:
  double time(const Command& command);

  std::unique_ptr<Steps> steps_;
  double first_us_ = 0;
};

}  // namespace ronde::bench::detail
