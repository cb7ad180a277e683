#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ronde/trace/file/reader.h"
#include "ronde/trace/span_names.h"

// All that the ranks of a run recorded, in memory and on one clock: what analysis and simulation work on.
namespace ronde::trace {

// Texts by number; equal texts have one number. 0 is the empty text.
class Names {
 public:
  Names() { id(""); }
  Names(Names&&) = default;
  Names& operator=(Names&&) = default;

  std::uint32_t id(std::string_view text);
  // None: no event has that name.
  std::optional<std::uint32_t> find(std::string_view text) const;
  const std::string& text(std::uint32_t id) const { return *texts_[id]; }
  std::size_t size() const { return texts_.size(); }

 private:
  std::unordered_map<std::string, std::uint32_t> ids_;  // nodes stay where they are
  std::vector<const std::string*> texts_;
};

// Times are nanoseconds since the run's first event, on the clock that ranks share.
struct TimeRange {
  std::int64_t begin = 0, end = 0;

  std::int64_t length() const { return end - begin; }
  friend bool operator==(const TimeRange&, const TimeRange&) = default;
};

struct LaneSpan {
  static constexpr std::int32_t kNone = -1;

  TimeRange time = {};
  std::uint32_t name = 0;
  std::uint32_t category = 0;
  std::int32_t parent = kNone;  // its place in the lane
};

// What one thread, or one row of the timeline, did. Spans nest or follow one another; sorted by begin, parents first.
struct Lane {
  enum class Kind { Training, Input, Checkpoint, Agree, Move, Device, Other };

  Kind kind = Kind::Other;
  std::string name = {};  // "training", "input decode", "agree: world", "move: world", "gpu 0 stream 7"
  std::vector<LaneSpan> spans = {};
};

// By its name, as recorders give them.
Lane::Kind lane_kind(std::string_view name);
// Sorts spans of a lane, and tells each its parent: the innermost that holds it.
void nest(std::vector<LaneSpan>& spans);

// A collective operation as one rank saw it: a span of a Move lane with what its arguments tell.
struct Collective {
  TimeRange time = {};             // of moving data, waiting for peers inside included
  std::int64_t first_arrival = 0;  // when this rank's program asked for the first part of it
  std::int64_t arrival = 0;        // and for the last
  std::uint64_t bytes = 0;         // of this rank's values
  std::uint64_t wire_bytes = 0;    // what they took on their way
  std::uint64_t sequence = 0;      // which one of its group; the same on all members
  std::int64_t waiting = 0;        // ns inside `time` in which peers had not come or not delivered
  std::uint32_t group = 0;         // name
  std::uint32_t name = 0;          // "allreduce"
  std::uint32_t requests = 0;      // tensors in it
};

struct TracedStep {
  std::int64_t number = 0;
  TimeRange time = {};
};

struct CounterSeries {
  struct Point {
    std::int64_t time = 0;
    double value = 0;
  };
  std::uint32_t name = 0;
  std::vector<Point> points = {};
};

struct RankTrace {
  int rank = 0;
  std::string host = {};
  std::map<std::string, std::string> metadata = {};
  std::vector<Lane> lanes = {};
  std::vector<Collective> collectives = {};  // by begin
  std::vector<TracedStep> steps = {};        // by number
  std::vector<CounterSeries> counters = {};
  std::uint64_t dropped = 0;  // events that found no room
  bool clock_shared = false;  // whether its times were brought to the clock that ranks share
  bool ended = true;          // the recorder closed the file; otherwise it is cut off, or its program was killed
  TimeRange time = {};        // first to last event

  // The thread that trains: forward, backward and all its waiting. Null: it recorded nothing.
  const Lane* training() const;
};

struct Run {
  std::filesystem::path source = {};
  int world_size = 0;
  std::vector<RankTrace> ranks = {};  // by rank; some may be missing
  Names names = {};
  std::int64_t began_ns = 0;               // wall clock of time 0, since 1970
  std::vector<std::string> problems = {};  // damaged files, missing ranks, dropped events: a sentence each
};

struct ReadOptions {
  int threads = 0;  // files read at a time; 0: one per core
  // Stands between a file and the run, once per file: may leave events out, or change them. Not set: all of it is read.
  std::function<std::unique_ptr<TraceVisitor>(TraceVisitor& to)> filter = {};
};

// Reads all files of a folder (or one file), brings all times to one clock, offsets and drift removed where they were
// measured. What is damaged or missing is told in Run::problems.
// FAILS WITH: BadInput when nothing at all can be read.
Run read_run(const std::filesystem::path& path, const ReadOptions& options = {});

}  // namespace ronde::trace
