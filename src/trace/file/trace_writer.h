#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include "ronde/trace/file/reader.h"

namespace ronde::trace {

// Writes a trace file as Recorder does, from events that bring their times: what a reader hands over, moved to another
// clock, or a run that never was. Given what read_trace() tells, it makes the same file again. Several ranks may be in
// one file. Not thread-safe.
//
//   TraceWriter writer("all.perfetto-trace");
//   for (const auto& file : trace_files("trace")) read_trace(file, writer);
//   writer.finish();
class TraceWriter : public TraceVisitor {
 public:
  // Replaces what was there, and makes the folder. FAILS WITH: System, naming the file.
  explicit TraceWriter(std::filesystem::path file);
  ~TraceWriter() override;
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;

  // The uuid of a row, `number` being 0 for the process.
  static std::uint64_t uuid(int rank, std::uint32_t number);

  // FAILS WITH: System (the file cannot be written), Bug (an event of a rank whose process was not described).
  void track(const ReadTrack& track) override;
  void event(const ReadEvent& event) override;
  void clocks(const ReadClocks& clocks) override;
  // All of it is in the file. FAILS WITH: System.
  void finish();

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace ronde::trace
