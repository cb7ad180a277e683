#pragma once

#include <memory>

#include "ronde/models/network.h"
#include "ronde/trace/recorder.h"

namespace ronde::models {

struct ModuleTraceOptions {
  bool modules = false;    // trace.modules
  bool operators = false;  // trace.operators
};

// While it lives, the thread that made it records what its network does.
//   modules: inside of a Pass, spans of category "module" that nest as modules do ("layer1", "layer1.0",
//     "layer1.0.conv1"). An operation without weights has a span of its own, named as models/costs.h names it
//     ("layer1.0.relu_"). Backward passes have the same names: torch tells which forward operation a backward one
//     belongs to. A span lasts until another module is at work. Work that torch gives to other threads, as backward
//     passes on a GPU, is not seen.
//   operators: spans of category "operator" for torch's operators that this thread calls, not for those that they are
//     made of: "conv2d", "convolution_backward".
// Costs microseconds for every operation while the recorder records, and little otherwise.
//
//   ModuleTrace modules(network, recorder, {.modules = true});
//   { RONDE_SPAN("forward"); const ModuleTrace::Pass pass(&modules, Direction::Forward); output = network.forward(x); }
//
// REQUIRES: lives on one thread, one at a time; its passes end before it; the network's tensors stay where they are.
class ModuleTrace {
 public:
  ModuleTrace(const Network& network, trace::Recorder& recorder, ModuleTraceOptions options);
  ~ModuleTrace();
  ModuleTrace(const ModuleTrace&) = delete;
  ModuleTrace& operator=(const ModuleTrace&) = delete;

  enum class Direction { Forward, Backward };
  // A pass, to the end of the block; the spans of its modules end with it. The backward pass is that of the forward
  // pass before.
  class Pass {
   public:
    Pass(ModuleTrace* modules, Direction direction);  // none: does nothing
    ~Pass();
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;

   private:
    ModuleTrace* const modules_;
  };

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace ronde::models
