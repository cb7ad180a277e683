#include "ronde/trace/file/trace_writer.h"

#include <bit>
#include <charconv>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ronde/base/error.h"
#include "ronde/trace/file/packets.h"
#include "ronde/trace/file/trace_file.h"

namespace ronde::trace {
namespace {

using detail::Slot;

constexpr std::size_t kChunk = 256 * 1024;
constexpr std::string_view kPid = "pid ", kDropped = "dropped events";

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

// Texts at places that stay, as packets want them.
class Texts {
 public:
  const char* keep(std::string_view text) {
    const auto found = texts_.find(text);
    return (found != texts_.end() ? found : texts_.emplace(text).first)->c_str();
  }

 private:
  std::unordered_set<std::string, TextHash, std::equal_to<>> texts_;
};

std::uint64_t address(const char* text) {
  return reinterpret_cast<std::uintptr_t>(text);
}

std::uint32_t number_of(std::uint64_t uuid) {
  return static_cast<std::uint32_t>(uuid);
}

std::int64_t pid_of(std::string_view label) {
  std::int64_t pid = 0;
  if (label.starts_with(kPid)) std::from_chars(label.data() + kPid.size(), label.data() + label.size(), pid);
  return pid;
}

Slot::Kind kind_of(ReadEvent::Type type) {
  switch (type) {
    case ReadEvent::Type::Begin: return Slot::Kind::Begin;
    case ReadEvent::Type::End: return Slot::Kind::End;
    case ReadEvent::Type::Instant: return Slot::Kind::Instant;
    case ReadEvent::Type::Counter: break;
  }
  return Slot::Kind::CounterDouble;
}

// One rank's part of the file.
class RankWriter {
 public:
  RankWriter(std::string& out, int rank) : packets_(out, rank) {}

  void track(const ReadTrack& track) {
    const std::uint32_t number = number_of(track.uuid);
    switch (track.kind) {
      case ReadTrack::Kind::Process: return packets_.process(track.name, pid_of(track.label));
      case ReadTrack::Kind::Thread: return packets_.thread(number, track.name, track.tid);
      case ReadTrack::Kind::Other: return packets_.track(number, track.name);
      case ReadTrack::Kind::Counter:  // the first value describes it
        counters_[track.uuid] = {texts_.keep(track.name), number_of(track.parent), track.name == kDropped};
    }
  }

  void event(const ReadEvent& event) {
    if (event.type == ReadEvent::Type::Counter) return counter(event);
    if (event.type == ReadEvent::Type::Instant && number_of(event.track) == 0 && note(event)) return;
    Slot slot{.kind = kind_of(event.type)};
    if (!event.name.empty()) slot.name = texts_.keep(event.name);
    if (!event.category.empty()) slot.bits = address(texts_.keep(event.category));
    args_.clear();
    for (const ReadArg& arg : event.args) args_.push_back(slot_of(arg));
    for (const std::uint64_t flow : event.flows)
      args_.push_back({.bits = flow, .kind = Slot::Kind::Argument, .arg_kind = Arg::Kind::Flow});
    packets_.event(slot, args_, number_of(event.track), event.time);
  }

  void clocks(const ReadClocks& clocks) { packets_.clocks(clocks.local, clocks.trace, clocks.reference); }

 private:
  struct Counter {
    const char* name = nullptr;
    std::uint32_t thread = 0;
    bool drops = false;
  };

  void counter(const ReadEvent& event) {
    const auto known = counters_.find(event.track);
    if (known == counters_.end()) return;
    const Counter& counter = known->second;
    if (counter.drops) {
      const auto thread = counter.thread == 0 ? std::nullopt : std::optional(counter.thread);
      return packets_.dropped(thread, static_cast<std::uint64_t>(event.value), event.time);
    }
    packets_.event(
        {.name = counter.name, .bits = std::bit_cast<std::uint64_t>(event.value), .kind = Slot::Kind::CounterDouble},
        {}, 0, event.time);
  }

  // What the recorder tells of a rank has a form of its own. False: it is something else.
  bool note(const ReadEvent& event) {
    if (event.name == "metadata" && event.args.size() == 1)
      if (const auto* text = std::get_if<std::string_view>(&event.args[0].value)) {
        packets_.metadata(event.args[0].key, *text, event.time);
        return true;
      }
    if (event.name != "clock offset" || event.args.size() != 2) return false;
    const auto* local = std::get_if<std::int64_t>(&event.args[0].value);
    const auto* offset = std::get_if<std::int64_t>(&event.args[1].value);
    if (local && offset) packets_.clock_offset(*local, *offset, event.time);
    return local && offset;
  }

  Slot slot_of(const ReadArg& arg) {
    Slot slot{.name = texts_.keep(arg.key), .kind = Slot::Kind::Argument};
    if (const auto* number = std::get_if<std::int64_t>(&arg.value)) {
      slot.bits = static_cast<std::uint64_t>(*number);
      slot.arg_kind = Arg::Kind::Int;
    } else if (const auto* real = std::get_if<double>(&arg.value)) {
      slot.bits = std::bit_cast<std::uint64_t>(*real);
      slot.arg_kind = Arg::Kind::Double;
    } else {
      slot.bits = address(texts_.keep(std::get<std::string_view>(arg.value)));
      slot.arg_kind = Arg::Kind::Text;
    }
    return slot;
  }

  Texts texts_;
  detail::PacketWriter packets_;
  std::unordered_map<std::uint64_t, Counter> counters_;
  std::vector<Slot> args_;  // of one event; here so that it keeps its memory
};

}  // namespace

struct TraceWriter::Impl {
  explicit Impl(std::filesystem::path path) : file(std::move(path)) {}

  RankWriter& rank(int number) {
    const auto known = ranks.find(number);
    if (known == ranks.end()) throw Error(Error::Kind::Bug, fmt::format("rank {} has no process row", number));
    return known->second;
  }
  void flush(std::size_t from) {
    if (text.size() < from) return;
    file.append(text);
    text.clear();
  }

  detail::TraceFile file;
  std::string text;  // whole packets that are not in the file yet
  std::map<int, RankWriter> ranks;
};

TraceWriter::TraceWriter(std::filesystem::path file) : impl_(std::make_unique<Impl>(std::move(file))) {}
TraceWriter::~TraceWriter() = default;

std::uint64_t TraceWriter::uuid(int rank, std::uint32_t number) {
  std::string none;
  return detail::PacketWriter(none, rank).uuid(number);
}

void TraceWriter::track(const ReadTrack& track) {
  if (track.kind == ReadTrack::Kind::Process) impl_->ranks.try_emplace(track.rank, impl_->text, track.rank);
  impl_->rank(track.rank).track(track);
}

void TraceWriter::event(const ReadEvent& event) {
  impl_->rank(event.rank).event(event);
  impl_->flush(kChunk);
}

void TraceWriter::clocks(const ReadClocks& clocks) {
  impl_->rank(clocks.rank).clocks(clocks);
}

void TraceWriter::finish() {
  impl_->flush(1);
}

}  // namespace ronde::trace
