#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "ronde/comm/gpu/device_link.h"
#include "ronde/comm/link/forwarding_link.h"
#include "ronde/device/memory.h"

namespace ronde::comm::detail {

// A link whose data are in the memory of GPUs: they move by NCCL, put into a stream, while members tell each other
// what they have to over the ordinary link. A task that moves data is done when the stream has it.
// REQUIRES: both links and the stream outlive it; only what NCCL can do.
class StreamLink final : public ForwardingLink {
 public:
  // `before` is called before the stream is given anything.
  StreamLink(Link& link, DeviceLink& data, const device::Stream& stream, std::function<void()> before)
      : ForwardingLink(link), data_(data), stream_(stream), before_(std::move(before)) {}

  void copy_here(Bytes to, ConstBytes from) override {
    before_();
    device::copy_async(to.data(), from.data(), from.size(), stream_);
  }
  Task allreduce(Segments data, math::Reduction reduction) override {
    before_();
    std::vector<DeviceLink::Piece> pieces;
    data.for_range(0, data.size(), [&](std::span<std::byte> piece, std::size_t) {
      pieces.push_back({piece.data(), piece.data(), piece.size() / size_of(reduction.dtype)});
    });
    data_.allreduce(pieces, reduction.dtype, reduction.op, stream_);
    co_return;
  }
  Task reduce(ConstBytes data, Bytes out, int root, math::Reduction reduction) override {
    before_();
    data_.reduce(data, out, root, reduction.dtype, reduction.op, stream_);
    co_return;
  }
  Task reduce_scatter(std::vector<ConstBytes> send, Bytes out, math::Reduction reduction) override {
    before_();
    data_.reduce_scatter(send, out, reduction.dtype, reduction.op, stream_);
    co_return;
  }
  Task broadcast(Bytes data, int root) override {
    before_();
    data_.broadcast(data.data(), data.size(), root, stream_);
    co_return;
  }
  Task allgather(ConstBytes mine, std::vector<Bytes> out) override {
    before_();
    data_.allgather(mine, out, stream_);
    co_return;
  }
  Task alltoall(std::vector<ConstBytes> send, std::vector<Bytes> out) override {
    before_();
    data_.alltoall(send, out, stream_);
    co_return;
  }

 private:
  DeviceLink& data_;
  const device::Stream& stream_;
  const std::function<void()> before_;
};

}  // namespace ronde::comm::detail
