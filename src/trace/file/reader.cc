#include "ronde/trace/file/reader.h"

#include <algorithm>
#include <deque>
#include <map>

#include "ronde/base/error.h"
#include "ronde/base/text/format.h"
#include "ronde/base/wire/proto_cursor.h"
#include "ronde/trace/file/packet_frames.h"
#include "ronde/trace/file/schema.h"

namespace ronde::trace {
namespace {

using namespace detail::schema;

constexpr std::size_t kMostTexts = 1u << 20;  // ids are given one by one; more than that is garbage

// Nothing that is recorded lies that far from 1970; sums and differences of less cannot overflow.
constexpr std::int64_t kMostTime = std::int64_t{1} << 61;
bool is_time(std::int64_t time) {
  return time >= 0 && time < kMostTime;
}

// Texts by the number that a file gave them.
class Texts {
 public:
  bool add(std::string_view entry) {
    std::uint64_t id = 0;
    std::string_view text;
    ProtoCursor at(entry);
    while (at.next()) {
      if (at.field() == interned::kId) id = at.number();
      if (at.field() == interned::kText) text = at.bytes();
    }
    if (!at.ok() || id >= kMostTexts) return false;
    if (texts_.size() <= id) texts_.resize(static_cast<std::size_t>(id) + 1);
    texts_[static_cast<std::size_t>(id)] = text;
    return true;
  }

  std::string_view get(std::uint64_t id) const {
    return id < texts_.size() ? std::string_view(texts_[static_cast<std::size_t>(id)]) : std::string_view();
  }

 private:
  std::deque<std::string> texts_;  // views of them stay valid
};

// What the packets of one rank have told so far.
struct Sequence {
  Texts categories, names, arg_names, arg_texts;

  bool learn(std::string_view data) {
    ProtoCursor at(data);
    bool fine = true;
    while (fine && at.next()) {
      if (at.field() == interned::kCategories) fine = categories.add(at.bytes());
      if (at.field() == interned::kEventNames) fine = names.add(at.bytes());
      if (at.field() == interned::kArgNames) fine = arg_names.add(at.bytes());
      if (at.field() == interned::kArgTexts) fine = arg_texts.add(at.bytes());
    }
    return fine && at.ok();
  }
};

bool read_track(std::string_view bytes, ReadTrack& track) {
  ProtoCursor at(bytes);
  bool fine = true;
  while (fine && at.next()) {
    if (at.field() == descriptor::kUuid) track.uuid = at.number();
    if (at.field() == descriptor::kName) track.name = at.bytes();
    if (at.field() == descriptor::kParent) track.parent = at.number();
    if (at.field() == descriptor::kCounter) track.kind = ReadTrack::Kind::Counter;
    const bool process = at.field() == descriptor::kProcess, thread = at.field() == descriptor::kThread;
    if (!process && !thread) continue;
    track.kind = process ? ReadTrack::Kind::Process : ReadTrack::Kind::Thread;
    ProtoCursor inner(at.bytes());
    while (inner.next()) {
      if (inner.field() == (process ? descriptor::kProcessName : descriptor::kThreadName)) track.name = inner.bytes();
      if (process && inner.field() == descriptor::kProcessLabels) track.label = inner.bytes();
      if (thread && inner.field() == descriptor::kTid) track.tid = inner.signed_number();
    }
    fine = inner.ok();
  }
  return fine && at.ok();
}

bool read_clocks(std::string_view bytes, ReadClocks& clocks) {
  ProtoCursor at(bytes);
  bool fine = true;
  while (fine && at.next()) {
    if (at.field() != clock::kClocks) continue;
    std::uint64_t id = 0;
    std::int64_t time = 0;
    ProtoCursor inner(at.bytes());
    while (inner.next()) {
      if (inner.field() == clock::kId) id = inner.number();
      if (inner.field() == clock::kTime) time = inner.signed_number();
    }
    if (id == clock::kLocal) clocks.local = time;
    if (id == clock::kTrace) clocks.trace = time;
    if (id == clock::kReference) clocks.reference = time;
    fine = inner.ok() && is_time(time);
  }
  return fine && at.ok();
}

// Turns packets into calls of the visitor.
class Packets {
 public:
  explicit Packets(TraceVisitor& visitor) : visitor_(visitor) {}

  // Empty when the packet makes sense, or is somebody else's; else what is wrong.
  std::string_view read(std::string_view bytes) {
    Parts parts;
    ProtoCursor at(bytes);
    while (at.next()) switch (at.field()) {
        case trace_packet::kTimestamp: parts.time = at.signed_number(); break;
        case trace_packet::kSequenceId: parts.sequence = at.number(); break;
        case trace_packet::kSequenceFlags: parts.flags = at.number(); break;
        case trace_packet::kTrackEvent: parts.event = at.bytes(); break;
        case trace_packet::kInternedData: parts.interned = at.bytes(); break;
        case trace_packet::kTrackDescriptor: parts.track = at.bytes(); break;
        case trace_packet::kClockSnapshot: parts.clocks = at.bytes(); break;
        default: break;
      }
    if (!at.ok()) return "a packet is not a protocol buffer";
    if (parts.sequence < 2 || parts.sequence > kMostSequence) return {};
    return read(parts);
  }

 private:
  static constexpr std::uint64_t kMostSequence = 1u << 24;  // ranks

  struct Parts {
    std::int64_t time = 0;
    std::uint64_t sequence = 0, flags = 0;
    std::string_view event = {}, interned = {}, track = {}, clocks = {};
  };

  std::string_view read(const Parts& parts) {
    if (parts.flags & trace_packet::kStateCleared) sequences_[parts.sequence] = {};
    const auto found = sequences_.find(parts.sequence);
    if (found == sequences_.end()) return {};
    const int rank = rank_of(parts.sequence);
    if (!parts.interned.empty() && !found->second.learn(parts.interned)) return "invalid names";
    if (!parts.track.empty()) {
      ReadTrack track{.rank = rank};
      if (!read_track(parts.track, track)) return "an invalid track";
      visitor_.track(track);
    }
    if (!parts.clocks.empty()) {
      ReadClocks clocks{.rank = rank};
      if (!read_clocks(parts.clocks, clocks)) return "invalid clocks";
      visitor_.clocks(clocks);
    }
    if (!parts.event.empty() && !read_event(parts, found->second, rank)) return "an invalid event";
    return {};
  }

  bool read_event(const Parts& parts, const Sequence& sequence, int rank) {
    ReadEvent event{.rank = rank, .time = parts.time};
    args_.clear();
    flows_.clear();
    std::uint64_t type = 0;
    bool fine = true;
    ProtoCursor at(parts.event);
    while (fine && at.next()) switch (at.field()) {
        case event::kType: type = at.number(); break;
        case event::kTrack: event.track = at.number(); break;
        case event::kNameId: event.name = sequence.names.get(at.number()); break;
        case event::kName: event.name = at.bytes(); break;
        case event::kCategoryId: event.category = sequence.categories.get(at.number()); break;
        case event::kCounterInt: event.value = static_cast<double>(at.signed_number()); break;
        case event::kCounterDouble: event.value = at.real(); break;
        case event::kFlowIds: flows_.push_back(at.number()); break;
        case event::kArgs: fine = read_arg(at.bytes(), sequence); break;
        default: break;
      }
    if (!fine || !at.ok() || !is_time(event.time) || type < event::kSliceBegin || type > event::kCounterValue)
      return false;
    event.type = static_cast<ReadEvent::Type>(type - event::kSliceBegin);
    event.args = args_;
    event.flows = flows_;
    visitor_.event(event);
    return true;
  }

  bool read_arg(std::string_view bytes, const Sequence& sequence) {
    ReadArg arg;
    ProtoCursor at(bytes);
    while (at.next()) switch (at.field()) {
        case arg::kNameId: arg.key = sequence.arg_names.get(at.number()); break;
        case arg::kName: arg.key = at.bytes(); break;
        case arg::kInt: arg.value = at.signed_number(); break;
        case arg::kDouble: arg.value = at.real(); break;
        case arg::kText: arg.value = at.bytes(); break;
        case arg::kTextId: arg.value = sequence.arg_texts.get(at.number()); break;
        default: break;
      }
    args_.push_back(arg);
    return at.ok();
  }

  TraceVisitor& visitor_;
  std::map<std::uint64_t, Sequence> sequences_;
  std::vector<ReadArg> args_;
  std::vector<std::uint64_t> flows_;
};

}  // namespace

std::string Damage::text() const {
  if (offset == 0) return fmt::format("'{}' cannot be read ({})", file.string(), what);
  return fmt::format("'{}' is damaged at byte {} ({}); everything before it was read", file.string(), offset, what);
}

std::optional<Damage> read_trace(const std::filesystem::path& file, TraceVisitor& visitor) {
  detail::PacketFrames frames(file);
  Packets packets(visitor);
  while (const auto packet = frames.next())
    if (const std::string_view wrong = packets.read(*packet); !wrong.empty())
      return Damage{file, frames.offset(), std::string(wrong)};
  if (!frames.damage().empty()) return Damage{file, frames.offset(), frames.damage()};
  return {};
}

std::vector<std::filesystem::path> trace_files(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) throw Error::bad_input("there is no '{}'", path.string());
  if (!std::filesystem::is_directory(path, error)) return {path};
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(path, error))
    if (entry.path().extension() == ".perfetto-trace" && entry.path().filename().string().starts_with("trace-"))
      files.push_back(entry.path());
  if (error) throw Error::bad_input("'{}' cannot be listed: {}", path.string(), error.message());
  if (files.empty())
    throw Error::bad_input(
        "'{}' holds no trace (trace-00000.perfetto-trace and so on); record one with --trace-dir FOLDER",
        path.string());
  std::ranges::sort(files);
  return files;
}

}  // namespace ronde::trace
