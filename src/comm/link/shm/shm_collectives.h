#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "ronde/comm/link/shm/channel.h"
#include "ronde/comm/link/shm/shm_allreduce.h"

// The other collectives between the members of a channel, on ordinary memory. All members call the same one with the
// same arguments, except for their own data. Buffers of input and output do not overlap unless it says so, and must
// stay until the task is done.
namespace ronde::comm::detail {

Task shm_barrier(Channel& channel);

// Everyone's `data` becomes that of `root`.
Task shm_broadcast(Channel& channel, Bytes data, int root);

// out[m] gets what member m gave as `mine`. Sizes may differ by member; out[m] has the size of member m's.
Task shm_allgather(Channel& channel, ConstBytes mine, std::vector<Bytes> out);

// out[m] gets what member m gave as send[me]. Sizes may differ, also be zero: gather, scatter and send are made of it.
Task shm_alltoall(Channel& channel, std::vector<ConstBytes> send, std::vector<Bytes> out);

// `out` gets the reduction of what all members gave as send[me]. `out` may be the memory of send[me].
Task shm_reduce_scatter(Channel& channel, std::vector<ConstBytes> send, Bytes out, math::Reduction reduction);

// `out` of `root` gets the reduction of all `data`; it may be the memory of `data`. Others leave `out` empty.
Task shm_reduce(Channel& channel, ConstBytes data, Bytes out, int root, math::Reduction reduction);

}  // namespace ronde::comm::detail
