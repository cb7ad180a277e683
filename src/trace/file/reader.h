#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace ronde::trace {

// A row of a file's timeline. The rank is the one whose recorder wrote it.
struct ReadTrack {
  enum class Kind { Process, Thread, Counter, Other };

  std::uint64_t uuid = 0;
  int rank = 0;
  Kind kind = Kind::Other;
  std::string name = {};     // of the thread, counter or row; of the process: "rank 0 (node7)"
  std::string label = {};    // of the process: "pid 4711"
  std::uint64_t parent = 0;  // the row it belongs to: of a counter, its thread or process
  std::int64_t tid = 0;      // of the thread
};

struct ReadArg {
  std::string_view key = {};
  std::variant<std::int64_t, double, std::string_view> value = std::int64_t{0};
};

// What a file says at one place. Texts and arguments are valid during the call that hands it over. An End belongs to
// the last Begin of its track that has none; it has no name, and may bring more arguments.
struct ReadEvent {
  enum class Type { Begin, End, Instant, Counter };

  Type type = Type::Instant;
  int rank = 0;
  std::uint64_t track = 0;  // uuid; described before
  std::int64_t time = 0;    // the file's clock, nanoseconds (recorder.h)
  std::string_view name = {};
  std::string_view category = {};
  double value = 0;  // of a counter
  std::span<const ReadArg> args = {};
  std::span<const std::uint64_t> flows = {};
};

// One moment on the clock of a rank, on that of the file and, where it was measured, on the clock that all ranks share.
struct ReadClocks {
  int rank = 0;
  std::int64_t local = 0;
  std::int64_t trace = 0;
  std::optional<std::int64_t> reference = {};
};

// Sees a file from its beginning to its end, in the order of the file: events of one track by time, tracks in turns.
class TraceVisitor {
 public:
  virtual ~TraceVisitor() = default;
  virtual void track(const ReadTrack& /*track*/) {}
  virtual void event(const ReadEvent& event) = 0;
  virtual void clocks(const ReadClocks& /*clocks*/) {}
};

// Where a file stops making sense, and why. What lies before was read.
struct Damage {
  std::filesystem::path file = {};
  std::uint64_t offset = 0;
  std::string what = {};

  std::string text() const;  // one sentence
};

// Reads a file that Recorder wrote, or several joined end to end. Packets of other writers are passed over. A file that
// is cut off or damaged is read up to there.
// FAILS WITH: BadInput (cannot be opened, or is no trace from its first byte on).
std::optional<Damage> read_trace(const std::filesystem::path& file, TraceVisitor& visitor);

// The trace files of a folder, by rank; `path` may be a file too. FAILS WITH: BadInput when there is none.
std::vector<std::filesystem::path> trace_files(const std::filesystem::path& path);

}  // namespace ronde::trace
