#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ronde/base/system/hardware.h"
#include "ronde/report/communication/collectives.h"
#include "ronde/report/input/input_limit.h"
#include "ronde/report/run/job_facts.h"
#include "ronde/report/run/window.h"
#include "ronde/report/steps/steps.h"
#include "ronde/trace/file/run.h"

// What keeps a run from being faster. `ronde limits` asks the same before a run. Pure.
namespace ronde::report {

struct Bottleneck {
  std::string name = {};  // "compute", "memory bandwidth", "memory size", "input", "communication"
  // Of all ranks, if nothing else cost anything:
  //   compute           operations of forward and backward at the machine's rate
  //   memory bandwidth  bytes that they and the optimizer touch, at the machine's rate
  //   memory size       the largest batch that would fit, in the time that a step takes whatever its batch is: the
  //                     optimizer, and communication that nothing hides
  //   input             what the slowest stage makes when it never waits; where steps wait for it, what it makes now
  //   communication     the bytes of a step, and as many latencies as it has collectives, one after the other
  double samples_per_second = 0;
  bool known = false;
  bool binds = false;     // at most one
  bool limits = true;     // false: it would allow many times this run's speed, and is not known any better
  std::string text = {};  // from what it was computed; where it is not known, what to do to know it
};

// All parts may lack what they need: then what follows from it is not known.
struct BottleneckFacts {
  const trace::Run& run;
  const Window& window;
  const JobFacts& job;
  const MachineRates& machine;
  const StepTable& steps;
  const std::optional<InputLimit>& input;
  const Collectives& collectives;
  const MeasuredAllreduce& measured;
};

// All five, in the order above. Which one binds is what the run itself shows: the lowest of what its own computing,
// input, communication and memory would allow alone. Where computing is the lowest, the one of compute and memory
// bandwidth binds whose ceiling is lower.
std::vector<Bottleneck> bottlenecks_of(const BottleneckFacts& facts);

// The most samples a step, of all ranks, that would fit into memory if what does not belong to the model (weights,
// gradients, optimizer's state) grows with the batch. 0: not known.
double largest_batch(const JobFacts& job);

}  // namespace ronde::report
