#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ronde/base/wire/proto_writer.h"
#include "ronde/trace/file/schema.h"
#include "ronde/trace/record/intern.h"
#include "ronde/trace/record/ring.h"

namespace ronde::trace::detail {

// Writes the packets of one rank in Perfetto's format at the end of a string. Every call writes whole packets. All of a
// rank is one packet sequence, numbered by rank, and every track's uuid carries the rank, so that files of several
// ranks may simply be joined end to end. Times are nanoseconds of the trace's own clock (see recorder.h). Not
// thread-safe.
class PacketWriter {
 public:
  PacketWriter(std::string& out, int rank) : out_(out), rank_(rank) {}

  void process(std::string_view name, std::int64_t pid);  // REQUIRES: first of all
  void thread(std::uint32_t track, std::string_view name, std::int64_t tid);
  void track(std::uint32_t track, std::string_view name);

  // A slot and the argument slots that belong to it; counters make their track when first seen.
  void event(const Slot& slot, std::span<const Slot> args, std::uint32_t track, std::int64_t time);
  // How many events a thread (or the whole rank, for what belongs to no thread) has lost so far.
  void dropped(std::optional<std::uint32_t> thread, std::uint64_t count, std::int64_t time);
  // The same moment on the rank's own clock, on the trace's clock and, when it was measured, on the reference clock.
  void clocks(std::int64_t local, std::int64_t trace, std::optional<std::int64_t> reference);
  // An event of the process with one text or several numbers as arguments.
  void metadata(std::string_view key, std::string_view value, std::int64_t time);
  void clock_offset(std::int64_t local, std::int64_t offset, std::int64_t time);

  std::uint64_t uuid(std::uint32_t track) const { return (static_cast<std::uint64_t>(rank_) + 1) << 32 | track; }

 private:
  enum Interned : std::uint32_t {
    kCategory = schema::interned::kCategories,
    kEventName = schema::interned::kEventNames,
    kArgName = schema::interned::kArgNames,
    kArgText = schema::interned::kArgTexts
  };
  struct Fresh {
    Interned kind;
    std::uint64_t id;
    const char* text;
  };

  template <class Fill>
  void packet(std::optional<std::int64_t> time, Fill&& fill);
  template <class Fill>
  void track_event(std::int64_t time, int type, std::uint64_t uuid, Fill&& fill);
  template <class Fill>
  void process_instant(std::string_view name, std::int64_t time, Fill&& fill);
  void counter(const Slot& slot, std::int64_t time);
  void counter_track(std::uint64_t uuid, std::uint64_t parent, std::string_view name);
  void argument(const Slot& arg);
  void write_fresh();
  std::uint64_t intern(Interned kind, InternTable& table, const char* text);
  // Perfetto tells processes apart by pid alone, and ranks in containers or in one process may share theirs.
  std::uint64_t pid() const { return static_cast<std::uint64_t>(rank_) + 1; }

  ProtoWriter out_;
  const int rank_;
  bool begun_ = false;
  InternTable categories_, event_names_, arg_names_, arg_texts_, counters_;
  std::vector<Fresh> fresh_;                // what the packet being written has to introduce
  std::vector<std::uint32_t> drop_tracks_;  // threads whose drop counter has a track
};

}  // namespace ronde::trace::detail
