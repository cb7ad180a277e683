#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ronde/base/log.h"
#include "ronde/device/activity.h"
#include "ronde/trace/recorder.h"
#include "ronde/train/gpu/gpu_rows.h"

namespace ronde {

// Puts the work of GPUs into a trace: rows "gpu 0 stream 7" with spans of the categories "kernel", "collective" and
// "copy". For one thread at a time.
class GpuSpans {
 public:
  // REQUIRES: the recorder outlives this.
  explicit GpuSpans(trace::Recorder& recorder) : recorder_(recorder) {}

  // Any number at once: waits for the recorder's writer rather than have it drop some.
  // REQUIRES: the texts of names stay as long as this.
  void add(std::span<const device::Activity> done);

 private:
  void add_one(const device::Activity& activity);
  trace::Track track_of(std::size_t row, const device::Activity& activity);
  trace::Name name_of(std::string_view text);

  trace::Recorder& recorder_;
  GpuRows rows_;
  std::vector<trace::Track> tracks_;  // by row
  std::unordered_map<std::string_view, trace::Name> names_;
  std::vector<device::Activity> sorted_;  // here so that it keeps its memory
};

// While it lives, what this process's GPUs do goes into the trace, whenever the recorder is on.
class GpuTrace {
 public:
  // Null where it cannot be had, with a line in the log that says why.
  // REQUIRES: the recorder outlives it.
  static std::unique_ptr<GpuTrace> start(trace::Recorder& recorder, std::int64_t most_steps, const Log& log);

  // `most_steps`: it ends after so many steps that the recorder has taken; 0: never. FAILS WITH: System, with the
  // reason.
  GpuTrace(trace::Recorder& recorder, std::int64_t most_steps, Log log);
  // Brings what is left into the trace.
  ~GpuTrace();
  GpuTrace(const GpuTrace&) = delete;
  GpuTrace& operator=(const GpuTrace&) = delete;

  // A step begins.
  void step();

 private:
  void follow(bool recording) noexcept;

  trace::Recorder& recorder_;
  const std::int64_t most_steps_;
  std::int64_t steps_ = 0;  // that were recorded
  const Log log_;
  GpuSpans spans_;
  std::optional<device::ActivityRecorder> activity_;  // its thread uses the above
};

}  // namespace ronde
