#include "ronde/comm/agree/validate.h"

#include <cmath>
#include <numeric>

#include "ronde/base/error.h"
#include "ronde/comm/agree/description.h"
#include "ronde/comm/math/reduce_value.h"

namespace ronde::comm::detail {
namespace {

std::string title_of(const Request& request) {
  if (request.name.empty()) return std::string(name(request.operation));
  return fmt::format("{} '{}'", name(request.operation), request.name.substr(0, 80));
}

bool contiguous(const Buffer& buffer) {
  return memory_order(buffer) == 0;
}

// Where the result has the shape of the input, and both say that they lie in the same order, any order will do.
bool in_one_order(const Request& request) {
  const bool by_element = request.operation == Operation::Allreduce || request.operation == Operation::Broadcast ||
                          request.operation == Operation::Reduce;
  return by_element && request.input.strides == request.output.strides && memory_order(request.input).has_value();
}

void check_buffer(const Request& request, const Buffer& buffer, std::string_view which) {
  if (!contiguous(buffer) && !in_one_order(request))
    throw Error::bad_input("{}: the {} is not contiguous; make a contiguous copy first", title_of(request), which);
  if (buffer.device == device::kHost) return;
  if (device::count() == 0)
    throw Error::bad_input("{}: the {} is on GPU {}, but no GPU is available: {}", title_of(request), which,
                           buffer.device, device::why_none());
  if (buffer.device < 0 || buffer.device >= device::count())
    throw Error::bad_input("{}: the {} is on GPU {}, but the number of GPUs that this rank sees is {}",
                           title_of(request), which, buffer.device, device::count());
}

void check_splits(const Request& request, int size) {
  if (request.splits.empty()) {
    const std::int64_t rows = request.input.shape.rows();
    if (rows % size != 0)
      throw Error::bad_input("{}: {} rows cannot be divided equally among {} members; pass splits", title_of(request),
                             rows, size);
    return;
  }
  if (std::ssize(request.splits) != size)
    throw Error::bad_input("{}: {} splits for {} members; pass one per member", title_of(request),
                           request.splits.size(), size);
  std::int64_t total = 0;
  bool overflow = false;
  for (const std::int64_t rows : request.splits) {
    if (rows < 0)
      throw Error::bad_input("{}: number of rows in a split must be at least 0, got {}", title_of(request), rows);
    overflow = __builtin_add_overflow(total, rows, &total) || overflow;
  }
  if (overflow || total != request.input.shape.rows())
    throw Error::bad_input("{}: the splits add up to {} rows, but the input has {}", title_of(request),
                           overflow ? "too many" : std::to_string(total), request.input.shape.rows());
}

// Operations whose output has the shape of the input.
void check_same_shape(const Request& request) {
  const Buffer &in = request.input, &out = request.output;
  if (out.data && (out.dtype != in.dtype || out.shape != in.shape))
    throw Error::bad_input("{}: the output is {} {}, but the input is {} {}", title_of(request), name(out.dtype),
                           to_text(out.shape), name(in.dtype), to_text(in.shape));
}

void check_root(const Request& request, int rank, int size) {
  if (request.root < 0 || request.root >= size)
    throw Error::bad_input("{}: there is no member {} in a group of {}", title_of(request), request.root, size);
  const bool sends = request.operation == Operation::Send || request.operation == Operation::Receive;
  if (sends && request.root == rank)
    throw Error::bad_input("{}: member {} cannot send to itself", title_of(request), rank);
}

void check_scales(const Request& request) {
  if (!std::isfinite(request.prescale) || !std::isfinite(request.postscale))
    throw Error::bad_input("{}: prescale and postscale must be finite, got {} and {}", title_of(request),
                           request.prescale, request.postscale);
}

void check_reduction(const Request& request) {
  if (request.op != ReduceOp::Adasum) return;
  if (request.operation != Operation::Allreduce)
    throw Error::bad_input("{}: adasum is for allreduce only", title_of(request));
  if (!math::is_floating_point(request.input.dtype))
    throw Error::bad_input("{}: adasum is for floating-point types only, but the input is {}", title_of(request),
                           name(request.input.dtype));
}

bool needs_input(const Request& request, int rank) {
  switch (request.operation) {
    case Operation::Receive:
    case Operation::Barrier:
    case Operation::Join: return false;
    case Operation::Scatter: return request.root == rank;
    default: return true;
  }
}

}  // namespace

void validate(const Request& request, int rank, int size) {
  if (request.name.size() > kLongestName)
    throw Error::bad_input("{}...: name of {} characters is too long; at most {} are allowed", title_of(request),
                           request.name.size(), kLongestName);
  check_root(request, rank, size);
  check_buffer(request, request.input, "input");
  check_buffer(request, request.output, "output");
  if (request.input.data && request.output.data && request.input.device != request.output.device)
    throw Error::bad_input("{}: input and output are not on the same device", title_of(request));
  check_scales(request);
  if (needs_input(request, rank) && !request.input.data && request.input.shape.elements() > 0)
    throw Error::bad_input("{}: the input has no memory", title_of(request));
  switch (request.operation) {
    case Operation::Allreduce:
    case Operation::Reduce: check_reduction(request); return check_same_shape(request);
    case Operation::ReduceScatter: return check_reduction(request);
    case Operation::Broadcast: return check_same_shape(request);
    case Operation::Alltoall: return check_splits(request, size);
    case Operation::Scatter:
      if (request.root == rank) check_splits(request, size);
      return;
    default: return;
  }
}

}  // namespace ronde::comm::detail
