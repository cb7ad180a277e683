#include "ronde/comm/testing/call.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "ronde/base/text/format.h"
#include "ronde/comm/math/reduce_reference.h"

namespace ronde::comm::tests {
namespace {

double fraction(std::uint64_t bits) {
  const double magnitude = 1.0 / 64 + static_cast<double>(bits >> 12) * 0x1p-51;
  return (bits & 1) != 0 ? -magnitude : magnitude;
}

void make_value(const Call& call, std::uint64_t bits, std::byte* at) {
  const bool small = call.values == Values::Small;
  if (math::is_float(call.dtype))
    return store_number(call.dtype, at, small ? static_cast<double>(bits % 15) - 7 : fraction(bits));
  std::uint64_t pattern = bits;
  if (small) pattern = call.dtype == DType::U8 || call.dtype == DType::U16 ? bits % 8 : bits % 15 - 7;
  if (call.dtype == DType::Bool) pattern = bits & 1;
  std::memcpy(at, &pattern, size_of(call.dtype));
}

std::int64_t rows_of(const Call& call, int from, int count) {
  const auto first = call.rows.begin() + from;
  return std::accumulate(first, first + count, std::int64_t{0});
}

}  // namespace

void store_number(DType dtype, std::byte* at, double value) {
  const auto single = static_cast<float>(value);
  if (dtype == DType::F64) {
    std::memcpy(at, &value, sizeof(value));
  } else if (dtype == DType::F32) {
    std::memcpy(at, &single, sizeof(single));
  } else {
    math::store_float(dtype, at, value);
  }
}

bool reduces(Operation operation) {
  return operation == Operation::Allreduce || operation == Operation::Reduce || operation == Operation::ReduceScatter;
}

bool submits(const Call& call, int member) {
  if (call.operation == Operation::Send) return member == call.sender || member == call.root;
  return std::find(call.joined.begin(), call.joined.end(), member) == call.joined.end();
}

bool gives(const Call& call, int member) {
  switch (call.operation) {
    case Operation::Broadcast:
    case Operation::Scatter: return member == call.root;
    case Operation::Send: return member == call.sender;
    case Operation::Barrier: return false;
    default: return submits(call, member);
  }
}

bool gets(const Call& call, int member) {
  switch (call.operation) {
    case Operation::Reduce:
    case Operation::Gather:
    case Operation::Send: return member == call.root;
    case Operation::Barrier: return false;
    default: return submits(call, member);
  }
}

bool may_be_in_place(const Call& call) {
  return call.operation == Operation::Allreduce || call.operation == Operation::Reduce ||
         call.operation == Operation::Broadcast;
}

Shape input_shape(const Call& call, int member, int members) {
  switch (call.operation) {
    case Operation::Allgather:
    case Operation::Gather: return call.rows.empty() ? call.shape : call.shape.with_rows(rows_of(call, member, 1));
    case Operation::Scatter: return call.shape.with_rows(rows_of(call, 0, members));
    case Operation::Alltoall: return call.shape.with_rows(rows_of(call, member * members, members));
    default: return call.shape;
  }
}

Shape output_shape(const Call& call, int member, int members) {
  switch (call.operation) {
    case Operation::Allgather:
    case Operation::Gather:
      return call.shape.with_rows(call.rows.empty() ? members * call.shape.rows() : rows_of(call, 0, members));
    case Operation::Scatter: return call.shape.with_rows(rows_of(call, member, 1));
    case Operation::ReduceScatter: {
      const std::int64_t rows = call.shape.rows();
      return call.shape.with_rows(rows / members + (member < rows % members ? 1 : 0));
    }
    case Operation::Alltoall: {
      std::int64_t rows = 0;
      for (int from = 0; from < members; ++from) rows += rows_of(call, from * members + member, 1);
      return call.shape.with_rows(rows);
    }
    default: return call.shape;
  }
}

Bytes make_input(const Call& call, int member, int members) {
  const std::size_t size = size_of(call.dtype);
  Bytes bytes(input_shape(call, member, members).elements() * size);
  Random random({call.seed, static_cast<std::uint64_t>(member)});
  for (std::size_t at = 0; at < bytes.size(); at += size) make_value(call, random.next(), bytes.data() + at);
  return bytes;
}

std::string describe(const Call& call) {
  std::string text =
      fmt::format("{} '{}' {}{}", name(call.operation), call.name, name(call.dtype), to_text(call.shape));
  if (!call.rows.empty())
    text += fmt::format(" rows {}{}", fmt::join(call.rows, ","), call.equal_shares ? " (equal shares)" : "");
  if (reduces(call.operation))
    text += fmt::format(" {} prescale {} postscale {}", name(call.op), call.prescale, call.postscale);
  if (call.operation == Operation::Send) text += fmt::format(" from {}", call.sender);
  text += fmt::format(" root {} compression {}", call.root, name(call.compression));
  if (!call.joined.empty()) text += fmt::format(" joined {}", fmt::join(call.joined, ","));
  return text + fmt::format(" seed {}", call.seed);
}

}  // namespace ronde::comm::tests
