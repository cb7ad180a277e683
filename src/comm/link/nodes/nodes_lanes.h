#pragma once

#include <cstdint>

#include "ronde/comm/link/transport.h"

// Which lanes of a group's channel carry what, so that messages that may overtake each other do not meet.
namespace ronde::comm::detail {

inline constexpr std::uint32_t kChunkLanes = 24;  // two a chunk that is under way
inline constexpr std::uint32_t kOtherLane = 24;   // all but allreduce
inline constexpr std::uint32_t kBarrierLane = 25;
inline constexpr std::uint32_t kTextLane = 30;  // agreeing
inline constexpr std::uint32_t kWordsLane = 31;
static_assert(kWordsLane < Tag::kLanes);

}  // namespace ronde::comm::detail
