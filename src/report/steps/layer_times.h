#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ronde/report/run/window.h"
#include "ronde/trace/file/run.h"

// What a trace tells of the time that modules take in forward and backward passes. Pure.
namespace ronde::report {

// Of a module, over all ranks. Passes may be parts: where a batch is cut into pieces (train.accumulate), each of them
// counts as its share of a whole one.
struct LayerTime {
  double forwards = 0, backwards = 0;  // passes
  double seconds = 0;                  // in both, of its own: without modules inside and without waiting for ranks
};

struct LayerTimes {
  std::map<std::string, LayerTime> modules = {};  // by name
  LayerTime network = {};     // forward and backward spans of training threads, without waiting for ranks
  double step_seconds = 0;    // of steps, whatever was done in them
  double device_seconds = 0;  // in which devices computed; 0: no rows of devices
};

LayerTimes layer_times_of(const trace::Run& run, const Window& window);

}  // namespace ronde::report
