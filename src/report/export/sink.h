#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include "ronde/trace/file/reader.h"

namespace ronde::report::exporting {

// A file for a viewer, made from the events of all ranks. What it is given: the rows of a rank, its process first, then
// events of rows that were described, a rank after the other. Times are nanoseconds since 1970 on one clock; events of
// a row mostly come by time, but a span that holds others may come after them.
class Sink : public trace::TraceVisitor {
 public:
  // All of it is in the file. FAILS WITH: System.
  virtual void finish() = 0;
};

// Perfetto's own format. `file` is replaced.
std::unique_ptr<Sink> perfetto_sink(const std::filesystem::path& file);

// Chrome's JSON, with times since `begin`. See horovod_names.h for what events are called. `cycles`: with a CYCLE_START
// for each round of agreement.
std::unique_ptr<Sink> chrome_sink(const std::filesystem::path& file, std::int64_t begin, bool cycles = true);

// An OTF2 archive in a new folder; its clock begins at `begin`. FAILS WITH: BadInput where Ronde was built without
// libotf2; System.
std::unique_ptr<Sink> otf2_sink(const std::filesystem::path& folder, std::int64_t begin);

}  // namespace ronde::report::exporting
