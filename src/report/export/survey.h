#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include "ronde/base/math/step_window.h"
#include "ronde/trace/file/problems.h"
#include "ronde/trace/file/reader.h"
#include "ronde/trace/file/run.h"
#include "ronde/trace/shared_clock.h"

namespace ronde::report::exporting {

// What must be known of a rank before its first event can be put in its place.
struct RankSurvey {
  trace::RankFacts facts = {};
  trace::SharedClock clock = {};
  std::int64_t first = std::numeric_limits<std::int64_t>::max();  // event, by the clock of the file
  std::int64_t last = 0;
  std::optional<trace::TimeRange> steps = {};  // of those asked for
};

// Goes through a file and keeps nothing but that. Not thread-safe.
class Survey final : public trace::TraceVisitor {
 public:
  explicit Survey(const StepWindow& steps) : window_(steps) {}

  void track(const trace::ReadTrack& track) override;
  void event(const trace::ReadEvent& event) override;
  void clocks(const trace::ReadClocks& clocks) override;

  const std::map<int, RankSurvey>& ranks() const { return ranks_; }

 private:
  RankSurvey& rank(int number);
  void note(const trace::ReadEvent& event, RankSurvey& rank) const;
  void step(const trace::ReadEvent& event, RankSurvey& rank) const;

  const StepWindow window_;
  std::map<int, RankSurvey> ranks_;
  std::unordered_map<std::uint64_t, bool> rows_;     // whether it is the one of the steps
  std::unordered_map<std::uint64_t, double> drops_;  // rows that count lost events, and how many so far
};

}  // namespace ronde::report::exporting
