#include "ronde/trace/file/packets.h"

#include <algorithm>
#include <bit>

#include "ronde/base/text/format.h"
#include "ronde/trace/file/schema.h"

namespace ronde::trace::detail {
namespace {

using namespace schema;

// Tracks of counters are numbered apart from all others.
constexpr std::uint32_t kCounterTracks = 1u << 31, kDropTracks = 1u << 30;

int type_of(Slot::Kind kind) {
  switch (kind) {
    case Slot::Kind::Begin: return event::kSliceBegin;
    case Slot::Kind::End: return event::kSliceEnd;
    default: return event::kInstant;
  }
}

}  // namespace

template <class Fill>
void PacketWriter::packet(std::optional<std::int64_t> time, Fill&& fill) {
  out_.message(schema::trace::kPacket, [&] {
    if (time) out_.varint(trace_packet::kTimestamp, static_cast<std::uint64_t>(*time));
    out_.varint(trace_packet::kSequenceId, sequence_of(rank_));
    out_.varint(trace_packet::kSequenceFlags, begun_ ? trace_packet::kNeedsState : trace_packet::kStateCleared);
    if (!begun_) out_.varint(trace_packet::kFirstOnSequence, 1);
    begun_ = true;
    fill();
    write_fresh();
  });
}

template <class Fill>
void PacketWriter::track_event(std::int64_t time, int type, std::uint64_t uuid, Fill&& fill) {
  packet(time, [&] {
    out_.message(trace_packet::kTrackEvent, [&] {
      out_.varint(event::kType, static_cast<std::uint64_t>(type));
      out_.varint(event::kTrack, uuid);
      fill();
    });
  });
}

void PacketWriter::write_fresh() {
  if (fresh_.empty()) return;
  out_.message(trace_packet::kInternedData, [&] {
    for (const Fresh& entry : fresh_) {
      out_.message(entry.kind, [&] {
        out_.varint(interned::kId, entry.id);
        out_.bytes(interned::kText, entry.text);
      });
    }
  });
  fresh_.clear();
}

std::uint64_t PacketWriter::intern(Interned kind, InternTable& table, const char* text) {
  const auto [id, fresh] = table.find_or_add(text);
  if (fresh) fresh_.push_back({kind, id, text});
  return id;
}

void PacketWriter::process(std::string_view name, std::int64_t real_pid) {
  packet({}, [&] {
    out_.message(trace_packet::kTrackDescriptor, [&] {
      out_.varint(descriptor::kUuid, uuid(0));
      out_.message(descriptor::kProcess, [&] {
        out_.varint(descriptor::kPid, pid());
        out_.bytes(descriptor::kProcessName, name);
        out_.bytes(descriptor::kProcessLabels, fmt::format("pid {}", real_pid));
      });
    });
  });
}

void PacketWriter::thread(std::uint32_t track, std::string_view name, std::int64_t tid) {
  packet({}, [&] {
    out_.message(trace_packet::kTrackDescriptor, [&] {
      out_.varint(descriptor::kUuid, uuid(track));
      out_.varint(descriptor::kParent, uuid(0));
      out_.message(descriptor::kThread, [&] {
        out_.varint(descriptor::kThreadPid, pid());
        out_.varint(descriptor::kTid, static_cast<std::uint64_t>(tid));
        out_.bytes(descriptor::kThreadName, name);
      });
    });
  });
}

void PacketWriter::track(std::uint32_t track, std::string_view name) {
  packet({}, [&] {
    out_.message(trace_packet::kTrackDescriptor, [&] {
      out_.varint(descriptor::kUuid, uuid(track));
      out_.varint(descriptor::kParent, uuid(0));
      out_.bytes(descriptor::kName, name);
    });
  });
}

void PacketWriter::counter_track(std::uint64_t track_uuid, std::uint64_t parent, std::string_view name) {
  packet({}, [&] {
    out_.message(trace_packet::kTrackDescriptor, [&] {
      out_.varint(descriptor::kUuid, track_uuid);
      out_.varint(descriptor::kParent, parent);
      out_.bytes(descriptor::kName, name);
      out_.message(descriptor::kCounter, [] {});
    });
  });
}

void PacketWriter::event(const Slot& slot, std::span<const Slot> args, std::uint32_t track, std::int64_t time) {
  if (slot.kind == Slot::Kind::CounterInt || slot.kind == Slot::Kind::CounterDouble) return counter(slot, time);
  track_event(time, type_of(slot.kind), uuid(track), [&] {
    if (slot.name) out_.varint(event::kNameId, intern(kEventName, event_names_, slot.name));
    if (slot.bits) out_.varint(event::kCategoryId, intern(kCategory, categories_, text_of(slot.bits)));
    for (const Slot& arg : args) argument(arg);
  });
}

void PacketWriter::argument(const Slot& slot) {
  if (slot.arg_kind == Arg::Kind::Flow) return out_.fixed64(event::kFlowIds, slot.bits);
  out_.message(event::kArgs, [&] {
    if (slot.name) out_.varint(arg::kNameId, intern(kArgName, arg_names_, slot.name));
    switch (slot.arg_kind) {
      case Arg::Kind::Int: out_.varint(arg::kInt, slot.bits); break;
      case Arg::Kind::Double: out_.fixed64(arg::kDouble, slot.bits); break;
      default:
        if (slot.bits) out_.varint(arg::kTextId, intern(kArgText, arg_texts_, text_of(slot.bits)));
    }
  });
}

void PacketWriter::counter(const Slot& slot, std::int64_t time) {
  const auto [id, fresh] = counters_.find_or_add(slot.name ? slot.name : "counter");
  const std::uint64_t track_uuid = uuid(kCounterTracks | static_cast<std::uint32_t>(id));
  if (fresh) counter_track(track_uuid, uuid(0), slot.name ? slot.name : "counter");
  track_event(time, event::kCounterValue, track_uuid, [&] {
    if (slot.kind == Slot::Kind::CounterInt) return out_.varint(event::kCounterInt, slot.bits);
    out_.fixed64(event::kCounterDouble, slot.bits);
  });
}

void PacketWriter::dropped(std::optional<std::uint32_t> thread, std::uint64_t count, std::int64_t time) {
  const std::uint32_t track = thread.value_or(0);
  const std::uint64_t track_uuid = uuid(kDropTracks | track);
  if (std::ranges::find(drop_tracks_, track) == drop_tracks_.end()) {
    counter_track(track_uuid, uuid(track), "dropped events");
    drop_tracks_.push_back(track);
  }
  track_event(time, event::kCounterValue, track_uuid, [&] { out_.varint(event::kCounterInt, count); });
}

void PacketWriter::clocks(std::int64_t local, std::int64_t trace, std::optional<std::int64_t> reference) {
  const auto clock = [&](std::uint64_t id, std::int64_t time) {
    out_.message(clock::kClocks, [&] {
      out_.varint(clock::kId, id);
      out_.varint(clock::kTime, static_cast<std::uint64_t>(time));
    });
  };
  packet(trace, [&] {
    out_.message(trace_packet::kClockSnapshot, [&] {
      clock(clock::kLocal, local);
      clock(clock::kTrace, trace);
      if (reference) clock(clock::kReference, *reference);
    });
  });
}

template <class Fill>
void PacketWriter::process_instant(std::string_view name, std::int64_t time, Fill&& fill) {
  track_event(time, event::kInstant, uuid(0), [&] {
    out_.bytes(event::kName, name);
    fill();
  });
}

void PacketWriter::metadata(std::string_view key, std::string_view value, std::int64_t time) {
  process_instant("metadata", time, [&] {
    out_.message(event::kArgs, [&] {
      out_.bytes(arg::kName, key);
      out_.bytes(arg::kText, value);
    });
  });
}

void PacketWriter::clock_offset(std::int64_t local, std::int64_t offset, std::int64_t time) {
  const auto number = [&](std::string_view key, std::int64_t value) {
    out_.message(event::kArgs, [&] {
      out_.bytes(arg::kName, key);
      out_.varint(arg::kInt, static_cast<std::uint64_t>(value));
    });
  };
  process_instant("clock offset", time, [&] {
    number("local_ns", local);
    number("offset_ns", offset);
  });
}

}  // namespace ronde::trace::detail
