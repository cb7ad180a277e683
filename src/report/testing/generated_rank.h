#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "ronde/trace/file/trace_writer.h"

namespace ronde::report::testing {

// One rank's file of a run that never was, with the rows that a training records. Times are those of the run; they are
// written by a clock that may differ.
class GeneratedRank {
 public:
  struct Clock {
    std::int64_t began_ns = 0;  // time 0 of the run, since 1970, by the first host's clock
    std::int64_t offset = 0;    // how far ahead this host's is then
    double drift = 0;           // and by how much it gains
  };
  struct Identity {
    int rank = 0, world_size = 1;
    std::string host = {};
  };
  enum class Row : std::uint32_t { Process, Steps, Agree, Move, Training, Decode, Device };

  GeneratedRank(const std::filesystem::path& folder, const Identity& identity, const Clock& clock);

  void begin(Row row, std::string_view name, std::int64_t at, std::string_view category = {},
             std::initializer_list<trace::ReadArg> args = {});
  void end(Row row, std::int64_t at);
  void span(Row row, std::string_view name, std::int64_t from, std::int64_t to, std::string_view category = {},
            std::initializer_list<trace::ReadArg> args = {}) {
    begin(row, name, from, category, args);
    end(row, to);
  }
  void counter(std::string_view name, std::int64_t at, double value);
  void metadata(std::string_view key, std::string_view value, std::int64_t at);
  // Row::Device is there from now on.
  void add_device();
  // The clocks are compared.
  void measure_clock(std::int64_t at);
  void finish() { writer_.finish(); }

  const std::filesystem::path& file() const { return file_; }

 private:
  std::uint64_t uuid(std::uint32_t number) const { return trace::TraceWriter::uuid(rank_, number); }
  std::uint64_t uuid(Row row) const { return uuid(static_cast<std::uint32_t>(row)); }
  std::int64_t local(std::int64_t at) const;  // by this host's CLOCK_MONOTONIC
  std::int64_t shown(std::int64_t at) const;  // by the clock of the file
  void instant(std::string_view name, std::int64_t at, std::initializer_list<trace::ReadArg> args);

  const int rank_;
  const Clock clock_;
  const std::filesystem::path file_;
  trace::TraceWriter writer_;
  std::vector<std::string> counters_;  // their rows are numbered as they come
};

}  // namespace ronde::report::testing
