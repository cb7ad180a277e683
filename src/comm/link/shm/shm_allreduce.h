#pragma once

#include "ronde/comm/link/segments.h"
#include "ronde/comm/link/shm/channel.h"
#include "ronde/comm/math/reduction.h"

namespace ronde::comm::detail {

// Replaces `data` by the reduction over all members, which must have as many bytes each. The same bits on every member.
Task shm_allreduce(Channel& channel, Segments data, math::Reduction reduction);

}  // namespace ronde::comm::detail
