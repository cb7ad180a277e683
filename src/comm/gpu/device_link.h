#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ronde/comm/gpu/gpu_place.h"
#include "ronde/comm/link/segments.h"
#include "ronde/comm/types.h"
#include "ronde/device/stream.h"

namespace ronde::comm::detail {

// The GPU is not opened for it. FAILS WITH: BadInput when there is no such GPU.
GpuPlace gpu_place(int device, int rank, std::string host);

// Empty: NCCL can connect them. Otherwise one sentence that says who shares a GPU, or who has none.
std::string why_not_nccl(const std::vector<GpuPlace>& places);

// Can NCCL reduce values of this type so? What merely moves, of whatever type, it can always move.
bool nccl_can(DType dtype, ReduceOp op);

// What moves memory of GPUs between the members of a group without the host. Functions put work into `stream`, which
// is one of the member's GPU, and return: what they read and write must stay until the stream has come past it. All
// members call the same functions in the same order; they may do so while the stream is captured into a CUDA graph, in
// a mode that lets other threads work (not cudaStreamCaptureModeGlobal: NCCL has threads), after having called each
// once without. Such a graph is to be destroyed before the link, whose end waits for that. One thread at a time. After
// a failure only abort() and the end may follow. FAILS WITH, all of them: System, in NCCL's words; Timeout when a call
// is not through after the deadline, in which case the communicator is given up.
class DeviceLink {
 public:
  // Takes the communicator down together with the other members'; after a failure, or before ready(), by itself.
  virtual ~DeviceLink() = default;

  // Is everyone there? To be asked until it is true; nothing else may be called before.
  virtual bool ready() = 0;

  struct Piece {
    const void* in;
    void* out;  // may be `in`
    std::size_t count;
  };
  virtual void allreduce(std::span<const Piece> pieces, DType dtype, ReduceOp op, const device::Stream& stream) = 0;
  // `out` of `root` gets the reduction of all `data`; it may be the memory of `data`. Others leave `out` empty.
  virtual void reduce(ConstBytes data, Bytes out, int root, DType dtype, ReduceOp op, const device::Stream& stream) = 0;
  // `out` gets the reduction of what all members gave as send[me]; it may be the memory of send[me].
  // REQUIRES: pieces of equal size lie one behind the other on all members, or on none.
  virtual void reduce_scatter(const std::vector<ConstBytes>& send, Bytes out, DType dtype, ReduceOp op,
                              const device::Stream& stream) = 0;
  virtual void broadcast(void* data, std::size_t bytes, int root, const device::Stream& stream) = 0;
  // out[m] gets what member m gave as `mine`; out[me] may be the memory of `mine`. Sizes may differ by member.
  // REQUIRES: as reduce_scatter, of `out`.
  virtual void allgather(ConstBytes mine, const std::vector<Bytes>& out, const device::Stream& stream) = 0;
  // out[m] gets what member m gave as send[me]. Sizes may differ, also be zero.
  virtual void alltoall(const std::vector<ConstBytes>& send, const std::vector<Bytes>& out,
                        const device::Stream& stream) = 0;

  // Memory of the member's GPU that NCCL knows: what is in it travels without a copy more, where the hardware can do
  // that. It stays as long as the link. All members ask for as much, in the same order; not while a stream is captured.
  // After its failure the link is as before.
  virtual std::byte* make_registered(std::size_t bytes) = 0;

  // Has something gone wrong since, here or at another member?
  virtual void check() = 0;
  // Makes whatever is under way end, in the streams too. Returns at once.
  virtual void abort() noexcept = 0;
};

std::string why_no_nccl();   // empty where there is NCCL to use; otherwise one sentence
std::string nccl_version();  // "2.28.3", of the library that is loaded; empty without

// The name of a communicator to be: one member makes it, all are to be told it before make_nccl_link().
// FAILS WITH: System in NCCL's words; BadInput where there is no NCCL.
std::string make_nccl_id();

struct NcclOptions {
  std::string id;
  int rank = 0;  // in the group
  int size = 1;
  GpuPlace place = {};
  std::vector<GpuPlace> places = {};  // of all members, in their order
  std::chrono::nanoseconds deadline = std::chrono::minutes(1);
};
// Begins to connect the members; ready() tells when that is done.
// REQUIRES: why_not_nccl(options.places) is empty.
// FAILS WITH: as make_nccl_id().
std::unique_ptr<DeviceLink> make_nccl_link(NcclOptions options);

// What tests put into NCCL's place: host memory travels by its links as that of GPUs does by NCCL's, with a GPU a rank.
class NcclStandIn {
 public:
  virtual ~NcclStandIn() = default;
  virtual std::string make_id() = 0;
  virtual std::unique_ptr<DeviceLink> make_link(NcclOptions options) = 0;
};

}  // namespace ronde::comm::detail
