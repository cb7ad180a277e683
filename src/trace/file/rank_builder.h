#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "ronde/trace/file/reader.h"
#include "ronde/trace/file/run.h"
#include "ronde/trace/shared_clock.h"

namespace ronde::trace::detail {

// What a file tells of one rank, times still as the file has them.
struct RankDraft {
  RankTrace trace = {};
  SharedClock clock = {};
  bool farewell = false;  // the recorder closed the file
};

// Makes drafts of the ranks in a file. Names are numbers of its own table.
class RankBuilder final : public TraceVisitor {
 public:
  explicit RankBuilder(Names& names);

  void track(const ReadTrack& track) override;
  void event(const ReadEvent& event) override;
  void clocks(const ReadClocks& clocks) override;

  // Ends spans that are open where the file ends. By rank.
  std::vector<RankDraft> take();

 private:
  enum class Row { Lane, Steps, Process, Counter, Dropped };
  struct OpenSpan {
    LaneSpan span = {};
    Collective collective = {};
    std::int64_t step = 0;
  };
  struct TrackState {
    Row row = Row::Lane;
    RankDraft* rank = nullptr;
    std::size_t place = 0;  // of the lane or the counter
    bool moves = false;
    std::uint32_t group = 0;
    std::vector<OpenSpan> open = {};
    double last = 0;  // of a counter
  };

  RankDraft& draft(int rank);
  void begin(const ReadEvent& event, TrackState& state);
  void end(const ReadEvent& event, TrackState& state);
  void close(TrackState& state, std::int64_t time);
  void note(const ReadEvent& event, RankDraft& rank);

  Names& names_;
  const std::uint32_t wait_for_peers_;
  std::map<int, RankDraft> ranks_;
  std::unordered_map<std::uint64_t, TrackState> tracks_;
  std::map<std::pair<int, std::uint32_t>, std::uint64_t> unnumbered_;  // collectives of files without numbers, by group
};

}  // namespace ronde::trace::detail
