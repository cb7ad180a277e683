#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ronde/report/run/window.h"
#include "ronde/trace/file/run.h"

namespace ronde::report {

// Kernels, copies, collectives of devices and operators, by name: the time of their own, without what is inside them.
// Modules where there is none of these (trace.modules=true).
struct OperatorTime {
  std::string name = {};
  std::string category = {};  // "kernel", "operator", "copy", "collective", "module"
  std::uint64_t visits = 0;
  double seconds = 0;  // of all ranks together
  double share = 0;    // of all ranks' time
};
// At most so many, those with most time.
std::vector<OperatorTime> operators_of(const trace::Run& run, const Window& window, std::size_t most = 100);

}  // namespace ronde::report
