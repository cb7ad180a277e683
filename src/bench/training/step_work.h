#pragma once

#include <cstddef>
#include <vector>

#include "ronde/bench/detail/command.h"
#include "ronde/bench/training/models.h"
#include "ronde/comm/engine.h"

namespace ronde::bench::detail {

// What one rank does for `ronde bench step`. Command::what:
//   step         every gradient by a call of its own, last layer first, then a wait for each
//   contiguous   as many bytes in one piece, by one call
class StepWork {
 public:
  // `compute_us`: what the backward pass takes, spread over the tensors in equal parts, each before its call.
  StepWork(comm::Engine& engine, std::vector<Parameter> parameters, double compute_us);

  // Microseconds a step. FAILS WITH: Bug when a sum is wrong; as the engine.
  double time(const Command& command);

 private:
  struct Gradient {
    std::string name;
    std::vector<float> values;
    comm::Buffer buffer;
  };

  void step();
  void check_step();

  comm::Engine& engine_;
  std::vector<Gradient> gradients_;  // in the order of the backward pass
  std::vector<comm::Handle> handles_;
  std::vector<float> whole_;
  double compute_us_;  // before each tensor
};

}  // namespace ronde::bench::detail
