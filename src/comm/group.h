#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ronde/comm/handle.h"
#include "ronde/comm/request.h"
#include "ronde/device/stream.h"

namespace ronde::comm {

namespace detail {
class EngineCore;
class GroupCore;
}  // namespace detail

struct AllreduceOptions {
  ReduceOp op = ReduceOp::Sum;
  double prescale = 1.0;
  double postscale = 1.0;
  Compression compression = Compression::None;
  Buffer output = {};  // no data: in place
};

// What Group::allreduce_in_stream() reduces. Between two copies the buffers lie together, each from a multiple of 64
// bytes on, in memory that NCCL knows: one of those that were reserved.
struct InStream {
  std::size_t number = 0;
  std::vector<Buffer> buffers = {};
  ReduceOp op = ReduceOp::Sum;
};

// Ranks that run collectives together, in the order they were given. Members may submit in any order: names decide
// what matches. Everything returns at once; leave the memory alone, and do not free it, until the handle is ready (also
// when that is because the engine was shut down).
//
//   Handle handle = engine.world().allreduce("layer3.weight", buffer_of(gradient), {.op = ReduceOp::Average});
//   handle.wait();
//
// Safe to call from any thread. A plain value; copies stand for the same group. It must not be used after its engine.
class Group {
 public:
  int rank() const;                       // mine in this group; -1: not a member
  int size() const;                       //
  const std::vector<int>& ranks() const;  // the members, as ranks of the job

  // FAILS WITH: BadInput for a name that is on its way already, memory that is not contiguous, splits
  // or a root that cannot be, a group that was dropped or of which this rank is no member; PeerLost when a member has
  // gone.
  Handle submit(Request request) const;
  // Together: all run or none does (of sends and receives: all are submitted or none). Handles are in the same order.
  std::vector<Handle> submit(std::vector<Request> requests) const;

  // Submits and waits. Quicker than the two by themselves: this thread does all the work, and wakes no other.
  // FAILS WITH: as submit() and Handle::wait().
  Result run(Request request) const;

  // Why NCCL does not carry this group's buffers of GPUs, in one sentence; empty: it does. Known from the first request
  // for such a buffer on; until something fails, all members know the same.
  std::string why_not_nccl() const;
  // Reduces buffers of a GPU in place, all of one type: put into the group's stream at once, by the calling thread,
  // without a name, a vote or a handle, so that it may be recorded into a CUDA graph. It begins after `made`; `done` is
  // where it ends. All members do the same in the same order, and submit nothing to this group meanwhile.
  // FAILS WITH: BadInput where why_not_nccl() says something, or for what NCCL cannot reduce so; System.
  void allreduce_in_stream(const InStream& what, const device::Event& made, device::Event& done) const;
  // Makes the memory that it needs for such buffers, which are in the order of their numbers, from 0 on. Not while a
  // stream is recorded. FAILS WITH: as allreduce_in_stream(); BadInput for more than was reserved before.
  void reserve_in_stream(const std::vector<InStream>& all) const;
  // A graph with such reductions was launched in that stream. When it has got no further for comm.stall_abort, which
  // must be longer than it takes by itself, it is given up, and why_not_nccl() says so. FAILS WITH: System.
  void launched_in_stream(const device::Stream& stream) const;

  Handle allreduce(std::string name, Buffer tensor, AllreduceOptions options = {}) const {
    return submit({.name = std::move(name),
                   .input = std::move(tensor),
                   .output = std::move(options.output),
                   .op = options.op,
                   .prescale = options.prescale,
                   .postscale = options.postscale,
                   .compression = options.compression});
  }
  Handle reduce(std::string name, Buffer tensor, int root, ReduceOp op = ReduceOp::Sum) const {
    return submit(
        {.operation = Operation::Reduce, .name = std::move(name), .input = std::move(tensor), .op = op, .root = root});
  }
  Handle allgather(std::string name, Buffer tensor) const {
    return submit({.operation = Operation::Allgather, .name = std::move(name), .input = std::move(tensor)});
  }
  Handle gather(std::string name, Buffer tensor, int root) const {
    return submit({.operation = Operation::Gather, .name = std::move(name), .input = std::move(tensor), .root = root});
  }
  // `tensor` matters on the root, `output` on all.
  Handle scatter(std::string name, Buffer tensor, Buffer output, int root) const {
    return submit({.operation = Operation::Scatter,
                   .name = std::move(name),
                   .input = std::move(tensor),
                   .output = std::move(output),
                   .root = root});
  }
  Handle broadcast(std::string name, Buffer tensor, int root) const {
    return submit(
        {.operation = Operation::Broadcast, .name = std::move(name), .input = std::move(tensor), .root = root});
  }
  Handle alltoall(std::string name, Buffer tensor, std::vector<std::int64_t> splits = {}) const {
    return submit({.operation = Operation::Alltoall,
                   .name = std::move(name),
                   .input = std::move(tensor),
                   .splits = std::move(splits)});
  }
  Handle reduce_scatter(std::string name, Buffer tensor, ReduceOp op = ReduceOp::Sum) const {
    return submit(
        {.operation = Operation::ReduceScatter, .name = std::move(name), .input = std::move(tensor), .op = op});
  }
  // Match by name, or by their order between two members, apart from the group's other requests.
  Handle send(std::string name, Buffer tensor, int to) const {
    return submit({.operation = Operation::Send, .name = std::move(name), .input = std::move(tensor), .root = to});
  }
  Handle receive(std::string name, Buffer tensor, int from) const {
    return submit(
        {.operation = Operation::Receive, .name = std::move(name), .output = std::move(tensor), .root = from});
  }
  Handle barrier() const { return submit({.operation = Operation::Barrier}); }
  // Until its handle is ready, this rank must not submit anything to this group; others may reduce by sum, average or
  // adasum, to which it contributes zeros (averages still divide by the full size), and meet at barriers.
  Handle join() const { return submit({.operation = Operation::Join}); }

 private:
  friend class Engine;
  Group(detail::EngineCore& engine, std::shared_ptr<detail::GroupCore> core)
      : engine_(&engine), core_(std::move(core)) {}

  detail::EngineCore* engine_;
  std::shared_ptr<detail::GroupCore> core_;
};

}  // namespace ronde::comm
