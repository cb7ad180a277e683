#include "ronde/comm/execute/staging.h"

#include <cstring>
#include <new>

#include "ronde/base/error.h"
#include "ronde/comm/math/convert.h"
#include "ronde/device/memory.h"

namespace ronde::comm::detail {
namespace {

// On cache lines, for the sake of the vectorised loops.
Memory host_memory(std::size_t bytes) {
  constexpr auto kAlignment = std::align_val_t{64};
  auto* data = static_cast<std::byte*>(::operator new(bytes, kAlignment));
  return {data, std::shared_ptr<void>(data, [](void* memory) { ::operator delete(memory, kAlignment); })};
}

// Where the result goes: what the user gave, or new memory. What does not fit is an error of this member alone.
Bytes place_for(Ticket& ticket, DType dtype, const Shape& shape) {
  Buffer& output = ticket.result.output;
  const Buffer& wanted = ticket.request.output;
  output = {.data = nullptr, .dtype = dtype, .shape = shape, .device = gpu_of(ticket.request)};
  if (wanted.data) {
    if (wanted.dtype == dtype && wanted.bytes() == output.bytes()) {
      output = wanted;
      return bytes_of(output);
    }
    ticket.error = Error::bad_input("{}: the given output is {} {}, but the result is {} {}", title(ticket),
                                    name(wanted.dtype), to_text(wanted.shape), name(dtype), to_text(shape));
  }
  Memory memory = ticket.request.allocate && !ticket.error ? ticket.request.allocate(dtype, shape)
                                                           : make_memory(output.device, output.bytes());
  output.data = memory.data;
  ticket.result.memory = std::move(memory.owner);
  if (output.device != device::kHost) mark_made(ticket);  // work of the program's may still be using that memory
  return bytes_of(output);
}

}  // namespace

Memory make_memory(int gpu, std::size_t bytes) {
  if (gpu == device::kHost) return host_memory(bytes);
  auto there = std::make_shared<device::DeviceBuffer>(gpu, bytes);
  return {there->data(), there};
}

int gpu_of(const Request& request) {
  return request.input.device != device::kHost ? request.input.device : request.output.device;
}

void mark_made(Ticket& ticket) {
  const int gpu = gpu_of(ticket.request);
  if (gpu == device::kHost) return;
  const auto stream = device::Stream::borrow(gpu, ticket.request.stream);
  if (!ticket.made_on_gpu) ticket.made_on_gpu.emplace(stream);
  ticket.made_on_gpu->record(stream);
}

DType wire_type(const Description& description) {
  const bool wide = description.dtype == DType::F32 || description.dtype == DType::F64;
  if (!wide || description.compression == Compression::None) return description.dtype;
  return description.compression == Compression::F16 ? DType::F16 : DType::BF16;
}

bool prescale_can_wait(const Description& description) {
  const bool sum =
      description.op == ReduceOp::Sum || description.op == ReduceOp::Average || description.op == ReduceOp::Adasum;
  const bool half = description.dtype == DType::F16 || description.dtype == DType::BF16;
  return description.prescale == 1.0 || (sum && half);
}

math::Reduction reduction_of(const Description& description, int members) {
  double scale = description.postscale;
  if (prescale_can_wait(description)) scale *= description.prescale;
  if (description.op == ReduceOp::Average) scale /= members;
  return {.dtype = wire_type(description), .op = description.op, .scale = scale};
}

// Scaled in its own type first: it may be what keeps the values within the range of the other.
void pack(std::byte* out, const std::byte* in, std::size_t count, const Description& description) {
  if (count == 0) return;
  const DType wire = wire_type(description);
  const std::size_t bytes = count * size_of(description.dtype);
  if (wire == description.dtype) {
    std::memcpy(out, in, bytes);
    if (!prescale_can_wait(description)) math::scale(wire, out, count, description.prescale);
    return;
  }
  if (prescale_can_wait(description)) return math::convert(wire, out, description.dtype, in, count);
  std::vector<std::byte> scaled(in, in + bytes);
  math::scale(description.dtype, scaled.data(), count, description.prescale);
  math::convert(wire, out, description.dtype, scaled.data(), count);
}

Packed::Packed(const Buffer& buffer, const Description& description)
    : bytes_(bytes_of(buffer)), row_bytes_(buffer.shape.elements_per_row() * size_of(wire_type(description))) {
  const DType wire = wire_type(description);
  if (wire == buffer.dtype && prescale_can_wait(description)) return;
  const std::size_t count = buffer.shape.elements();
  copy_.resize(count * size_of(wire));
  pack(copy_.data(), static_cast<const std::byte*>(buffer.data), count, description);
  bytes_ = copy_;
}

ConstBytes Packed::rows(std::int64_t begin, std::int64_t count) const {
  return bytes_.subspan(static_cast<std::size_t>(begin) * row_bytes_, static_cast<std::size_t>(count) * row_bytes_);
}

Unpacked::Unpacked(Ticket& ticket, const Shape& shape)
    : place_(place_for(ticket, ticket.description.dtype, shape)),
      dtype_(ticket.description.dtype),
      wire_(wire_type(ticket.description)),
      bytes_(place_),
      row_bytes_(shape.elements_per_row() * size_of(wire_)) {
  if (wire_ == dtype_) return;
  copy_.resize(shape.elements() * size_of(wire_));
  bytes_ = copy_;
}

Bytes Unpacked::rows(std::int64_t begin, std::int64_t count) const {
  return bytes_.subspan(static_cast<std::size_t>(begin) * row_bytes_, static_cast<std::size_t>(count) * row_bytes_);
}

void Unpacked::finish() {
  if (wire_ == dtype_ || place_.empty()) return;
  math::convert(dtype_, place_.data(), wire_, copy_.data(), copy_.size() / size_of(wire_));
}

Buffer in_place_output(const Request& request) {
  return request.output.data ? request.output : request.input;
}

}  // namespace ronde::comm::detail
