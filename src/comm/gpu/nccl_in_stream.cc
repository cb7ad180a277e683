// Reductions that the program puts into the stream of a group by itself, so that they can be recorded.
#include "ronde/base/error.h"
#include "ronde/base/system/clock.h"
#include "ronde/base/text/units.h"
#include "ronde/comm/gpu/nccl_path.h"

namespace ronde::comm::detail {
namespace {

// Each from the beginning of a line on.
std::size_t bytes_of(const InStream& what) {
  std::size_t bytes = 0;
  for (const Buffer& buffer : what.buffers) bytes += lined_up(buffer.bytes());
  return bytes;
}

}  // namespace

void NcclPath::reserve(const std::vector<InStream>& all) {
  for (std::size_t number = 0; number < all.size(); ++number) {
    const std::size_t bytes = bytes_of(all[number]);
    const bool there = number < registered_.size();
    if (all[number].number != number || (there && registered_[number].size() < bytes))
      throw Error::bad_input("cannot reserve memory {} for {} to be reduced in a stream", number, format_bytes(bytes));
    if (!there) registered_.emplace_back(data_->make_registered(bytes), bytes);
  }
}

void NcclPath::allreduce_now(const InStream& what, const device::Event& made, device::Event& done) {
  if (what.buffers.empty()) throw Error::bad_input("no buffers to reduce");
  const DType dtype = what.buffers.front().dtype;
  if (!nccl_can(dtype, what.op)) throw Error::bad_input("NCCL does not support {} of {}", name(what.op), name(dtype));
  const std::size_t bytes = bytes_of(what);
  for (const Buffer& buffer : what.buffers) {
    if (buffer.device != gpu_ || buffer.dtype != dtype)
      throw Error::bad_input("buffers that are reduced together must be {} on GPU {}; one is {} on GPU {}", name(dtype),
                             gpu_, name(buffer.dtype), buffer.device);
  }
  if (what.number >= registered_.size() || registered_[what.number].size() < bytes)
    throw Error::bad_input("memory {} is not reserved for {} to be reduced in a stream", what.number,
                           format_bytes(bytes));
  std::byte* const memory = registered_[what.number].data();
  const auto each = [&](auto copy) {
    std::byte* next = memory;
    for (const Buffer& buffer : what.buffers) {
      copy(buffer, next);
      next += lined_up(buffer.bytes());
    }
  };
  stream_.wait(made);
  each([&](const Buffer& buffer, std::byte* at) { device::copy_async(at, buffer.data, buffer.bytes(), stream_); });
  const DeviceLink::Piece all{memory, memory, bytes / size_of(dtype)};
  if (bytes > 0) allreduce({&all, 1}, dtype, what.op);
  each([&](const Buffer& buffer, std::byte* at) { device::copy_async(buffer.data, at, buffer.bytes(), stream_); });
  done.record(stream_);
}

void NcclPath::launched(const device::Stream& stream) {
  Held held{.done = device::Event(stream), .since = monotonic_now()};
  held.step = true;
  held.done.record(stream);
  held_.push_back(std::move(held));
}

}  // namespace ronde::comm::detail
