#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "ronde/device/device.h"
#include "ronde/trace/recorder.h"

namespace ronde::data {

// How samples are prepared, whatever they are: the settings data.threads, .memory, .prefetch and .on_error.
struct PipelineOptions {
  int threads = 0;                            // most that compute; 0: one a core that this thread may use
  std::size_t memory = std::size_t{1} << 30;  // most that samples on their way take; three quarters are for samples
                                              // and batches, one for decoding
  std::size_t ahead = 0;                      // batches that are prepared before they are asked for; 0: as measured
  int device = device::kHost;                 // a GPU that is to read batches by itself: their memory is pinned, once
  bool skip_bad = false;                      // a sample that cannot be read: take another in its place
  std::function<void(const std::string&)> say = {};  // sentences for the user, from any thread
  trace::Recorder* recorder = nullptr;               // gets a span for every run of a stage; must outlive the pipeline
};

}  // namespace ronde::data
