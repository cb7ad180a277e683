#pragma once

#include <string>
#include <vector>

#include "ronde/report/run/window.h"
#include "ronde/trace/file/run.h"

namespace ronde::report {

// What one rank's device did, in seconds. It can compute, copy and take part in a collective at once: these three may
// add up to more than it was busy.
struct DeviceUse {
  int rank = 0;
  std::string host = {};
  double seconds = 0;      // of the rank's window, as far as its device was recorded
  double busy = 0;         // with any of them
  double computing = 0;    // kernels that are no collective
  double collectives = 0;  // waiting for peers inside them included
  double copies = 0;

  double idle() const { return seconds - busy; }
};

// The part of a rank's time for which its device speaks: without the first few steps, and where it was recorded in some
// only (trace.gpu_steps), until the last of these.
TimeRange recorded_of_device(const trace::RankTrace& rank, TimeRange bounds);

// From the rows of its streams (Lane::Kind::Device; categories "kernel", "collective", "copy"). All zero but for the
// window where there are none.
DeviceUse device_use(const trace::Run& run, const trace::RankTrace& rank, TimeRange bounds);

// Of all ranks that recorded such rows.
std::vector<DeviceUse> devices_of(const trace::Run& run, const Window& window);

}  // namespace ronde::report
