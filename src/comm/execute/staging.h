#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "ronde/comm/agree/description.h"
#include "ronde/comm/engine/ticket.h"
#include "ronde/comm/link/link.h"

// Between a request's buffers and what travels: compression, scales, memory for results.
namespace ronde::comm::detail {

// Memory of our own for a result: of a GPU, or the host's.
Memory make_memory(int gpu, std::size_t bytes);
// Where a request's buffers are.
int gpu_of(const Request& request);

// Buffers of a GPU: they are ready when the request's stream has come so far as it has now.
void mark_made(Ticket& ticket);

DType wire_type(const Description& description);

// Scaling before the reduction can be done after it, with less rounding, where sums are formed in a wider type.
bool prescale_can_wait(const Description& description);
math::Reduction reduction_of(const Description& description, int members);

inline Bytes bytes_of(const Buffer& buffer) {
  return {static_cast<std::byte*>(buffer.data), buffer.bytes()};
}

// Compresses and scales `count` values as the request wants it. `out` and `in` do not overlap.
void pack(std::byte* out, const std::byte* in, std::size_t count, const Description& description);

// An input as it travels: the buffer itself, or a copy that is compressed or scaled.
class Packed {
 public:
  Packed(const Buffer& buffer, const Description& description);
  ConstBytes bytes() const { return bytes_; }
  // The part that belongs to rows [begin, begin + count).
  ConstBytes rows(std::int64_t begin, std::int64_t count) const;

 private:
  std::vector<std::byte> copy_;
  ConstBytes bytes_;
  std::size_t row_bytes_;
};

// Where an output arrives: the buffer itself, or memory from which it is unpacked.
class Unpacked {
 public:
  // The result of `ticket` has this shape; its memory is made, if it has none.
  Unpacked(Ticket& ticket, const Shape& shape);
  Bytes bytes() const { return bytes_; }
  Bytes rows(std::int64_t begin, std::int64_t count) const;
  void finish();  // everything has arrived

 private:
  Bytes place_;  // where the user wants it
  DType dtype_, wire_;
  std::vector<std::byte> copy_;
  Bytes bytes_;
  std::size_t row_bytes_;
};

// Where a request's result belongs when it has the shape of the input.
Buffer in_place_output(const Request& request);

}  // namespace ronde::comm::detail
