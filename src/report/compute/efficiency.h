#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ronde/report/run/window.h"
#include "ronde/trace/file/run.h"

namespace ronde::report {

// A factor of the efficiency tree. The children of a factor multiply to it.
struct Factor {
  std::string key = {};      // "load_balance"
  std::string name = {};     // "load balance"
  double value = 1;          // 0 to 1; scalings may be above
  std::string meaning = {};  // one sentence: what is lost where it is below 1
  std::vector<Factor> children = {};

  // Itself or one below it. Null: none has that key.
  const Factor* find(std::string_view wanted) const;
};

// The POP efficiencies of a run. U_i is the useful time of rank i's training thread: all but waiting for input and for
// communication. T is the length of the window.
//
//   parallel efficiency   mean U / T                          = load balance x communication x input
//     load balance        mean U / max U
//     communication       max U / T without input waits       = serialisation x transfer
//       serialisation     max U / T on an ideal network, without input waits
//       transfer          T on an ideal network / T, both without input waits
//     input               T without input waits / T
//
// T without something is that of the replay (replay.h). Without waits for input these are POP's own definitions.
struct Efficiency {
  Factor parallel = {};
  std::optional<Factor> device = {};        // where device rows were recorded
  std::optional<Factor> computation = {};   // computation_of() the layers, where that is known
  double seconds = 0;                       // T
  double no_input_seconds = 0;              // T without waits for input
  double ideal_seconds = 0;                 // and on an ideal network
  std::vector<double> useful_seconds = {};  // U_i, by place in Run::ranks

  // What a run is graded by: the devices, where there are some. The host then only tells them what to do.
  const Factor& judged() const { return device ? *device : parallel; }
};

// The tree of both: "overall" = that x computation. Where computation is not known, the tree alone.
Factor with_computation(const Factor& tree, const std::optional<Factor>& computation);

Efficiency efficiency_of(const trace::Run& run, const Window& window);

// The device's tree. K_i is the time in which rank i's device computes: kernels that are no collective; time in which a
// collective's kernel waits for peers is not useful. B_i is that with copies and collectives.
//   device efficiency   mean K / T          = load balance x communication x orchestration
//     load balance      mean K / max K
//     communication     max K / max B
//     orchestration     max B / T           the device had nothing to do
// None without rows of a device (Lane::Kind::Device; categories "kernel", "collective", "copy").
std::optional<Factor> device_efficiency(const trace::Run& run, const Window& window);

}  // namespace ronde::report
