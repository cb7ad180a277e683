#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "ronde/base/math/step_window.h"
#include "ronde/trace/file/run.h"

namespace ronde::report {

struct BoundedOptions {
  StepWindow steps = {};     // asked for
  std::uint64_t memory = 0;  // bytes that the run and its analysis may take, about; 0: any
  int threads = 0;           // that read files; 0: one per core
};

struct BoundedRun {
  trace::Run run = {};
  StepWindow steps = {};      // those that were read, of those asked for
  std::string left_out = {};  // one sentence; empty: all that was asked for is there
};

// Reads a run as trace::read_run() does, if it takes no more memory than that. Otherwise the files are read three
// times: to see how much there is in which step, to see when the steps were, and for the events of as many steps from
// the middle as fit; of a run without steps, of as much time from the middle. What ranks tell of themselves is always
// read. FAILS WITH: BadInput when nothing at all can be read.
BoundedRun read_bounded(const std::filesystem::path& source, const BoundedOptions& options);

}  // namespace ronde::report
