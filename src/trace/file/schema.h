#pragma once

#include <cstdint>

// Field numbers of Perfetto's published schema (perfetto_trace.proto), by message.
namespace ronde::trace::detail::schema {

namespace trace {
constexpr std::uint32_t kPacket = 1;
}
namespace trace_packet {
constexpr std::uint32_t kClockSnapshot = 6, kTimestamp = 8, kSequenceId = 10, kTrackEvent = 11, kInternedData = 12,
                        kSequenceFlags = 13, kTrackDescriptor = 60, kFirstOnSequence = 87;
constexpr std::uint64_t kStateCleared = 1, kNeedsState = 2;  // sequence flags
}  // namespace trace_packet
namespace descriptor {
constexpr std::uint32_t kUuid = 1, kName = 2, kProcess = 3, kThread = 4, kParent = 5, kCounter = 8;
constexpr std::uint32_t kPid = 1, kProcessName = 6, kProcessLabels = 8;  // of the process
constexpr std::uint32_t kThreadPid = 1, kTid = 2, kThreadName = 5;       // of the thread
}  // namespace descriptor
namespace event {
constexpr std::uint32_t kCategoryId = 3, kArgs = 4, kType = 9, kNameId = 10, kTrack = 11, kName = 23, kCounterInt = 30,
                        kCounterDouble = 44, kFlowIds = 47;
constexpr int kSliceBegin = 1, kSliceEnd = 2, kInstant = 3, kCounterValue = 4;  // types
}  // namespace event
namespace arg {
constexpr std::uint32_t kNameId = 1, kInt = 4, kDouble = 5, kText = 6, kName = 10, kTextId = 17;
}
namespace interned {  // all kinds of interned text have one form
constexpr std::uint32_t kCategories = 1, kEventNames = 2, kArgNames = 3, kArgTexts = 29;
constexpr std::uint32_t kId = 1, kText = 2;
}  // namespace interned
namespace clock {
constexpr std::uint32_t kClocks = 1, kId = 1, kTime = 2;
// 64 to 127 are free for clocks of one packet sequence, so ranks in a joined file do not disturb each other.
constexpr std::uint64_t kLocal = 64, kTrace = 65, kReference = 66;
}  // namespace clock

// All of a rank is one packet sequence. 1 is what Perfetto's service uses.
constexpr std::uint32_t sequence_of(int rank) {
  return static_cast<std::uint32_t>(rank) + 2;
}
constexpr int rank_of(std::uint64_t sequence) {
  return static_cast<int>(sequence) - 2;
}

}  // namespace ronde::trace::detail::schema
