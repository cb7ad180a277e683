#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "ronde/trace/file/reader.h"
#include "ronde/trace/file/run.h"

namespace ronde::report::exporting {

// Lets through what happened in a stretch of time of each rank. A span that was going on when it begins is there from
// its beginning on, one that goes on when it ends is whole. What describes ranks and rows always gets through. Not
// thread-safe.
class StepFilter final : public trace::TraceVisitor {
 public:
  // Ranks that are not named lose all events. `to` outlives the filter.
  StepFilter(std::map<int, trace::TimeRange> ranges, trace::TraceVisitor& to) : ranges_(std::move(ranges)), to_(to) {}

  void track(const trace::ReadTrack& track) override { to_.track(track); }
  void event(const trace::ReadEvent& event) override;
  void clocks(const trace::ReadClocks& clocks) override { to_.clocks(clocks); }

 private:
  // A beginning that may still be wanted.
  struct Kept {
    std::string name, category;
    std::vector<std::pair<std::string, std::variant<std::int64_t, double, std::string>>> args;
    std::vector<std::uint64_t> flows;
  };
  struct Span {
    bool written = false;
    std::optional<Kept> kept;
  };

  void let_begin(std::vector<Span>& open, const trace::ReadEvent& at, std::int64_t from);

  const std::map<int, trace::TimeRange> ranges_;
  trace::TraceVisitor& to_;
  std::unordered_map<std::uint64_t, std::vector<Span>> open_;  // by row
};

}  // namespace ronde::report::exporting
