#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ronde/base/system/hardware.h"
#include "ronde/report/compute/efficiency.h"
#include "ronde/report/run/job_facts.h"
#include "ronde/report/run/window.h"
#include "ronde/trace/file/run.h"

// The layers of the network under the roof of the machine. Pure.
namespace ronde::report {

// What one rank may have of its machine. Ranks of a node share its processors and memory; a GPU is one rank's own.
struct RankRates {
  std::string name = {};        // of the machine
  std::string arithmetic = {};  // what products run in: "f32", "bf16"
  double flops = 0;             // a second; 0: not known
  double bytes = 0;             // of memory, a second; 0: not known
};
RankRates rank_rates(const trace::Run& run, const JobFacts& facts, const MachineRates& machine);

// A layer in training: forward once and backward twice its operations and bytes.
struct LayerPoint {
  std::string name = {}, operation = {};
  double flops = 0, bytes = 0, seconds = 0;  // of all ranks, in the window
  double share = 0;                          // of forward and backward
  std::string bound = {};                    // "compute" or "memory": which of the two is its roof; empty: not known

  double intensity() const { return bytes > 0 ? flops / bytes : 0; }
  double flops_per_second() const { return seconds > 0 ? flops / seconds : 0; }  // of one rank
};

struct LayerRoofline {
  RankRates rates = {};
  std::vector<LayerPoint> layers = {};  // in the order of the network
  std::string text = {};                // one sentence
  bool by_layer = false;                // otherwise the whole network is the only one
  bool whole_steps = false;             // times are those of steps, with whatever else is done and waited for in them

  // What a rank could reach at that intensity. 0: not known.
  double roof(double intensity) const;
};

// Times are those of modules' spans, without waiting for other ranks and without modules inside. Where there are none,
// or where a device works behind the program's back so that they tell nothing, the network as a whole is the only
// layer: the time of forward and backward, or of the device's kernels (of the steps, where
// those were not recorded). Evaluation does not count.
// None: the trace does not tell what layers cost, or has no times for them.
std::optional<LayerRoofline> layer_roofline_of(const trace::Run& run, const Window& window, const JobFacts& facts,
                                               const MachineRates& machine);

// The factor "computation": the time that layers would take at their roofs over the time that they take. None: ceilings
// are not known, or are below what was reached, or the time of computing alone is not known.
std::optional<Factor> computation_of(const LayerRoofline& roofline);

// What networks of usual layers reach of their roofs when a call has enough work. Below, something can be done about
// it.
inline constexpr double kReachable = 0.5;

}  // namespace ronde::report
