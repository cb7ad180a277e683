#include "ronde/comm/testing/reference.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "ronde/comm/link/nodes/layout.h"
#include "ronde/comm/math/reduce_reference.h"

namespace ronde::comm::tests {
namespace {

bool is_wide(DType dtype) {
  return dtype == DType::F32 || dtype == DType::F64;
}

// The type in which values travel.
DType wire_type(const Call& call) {
  if (call.compression == Compression::None || !is_wide(call.dtype)) return call.dtype;
  return call.compression == Compression::F16 ? DType::F16 : DType::BF16;
}

double narrowed(DType dtype, double value) {
  std::byte bytes[8];
  store_number(dtype, bytes, value);
  return math::load_float(dtype, bytes);
}

std::int64_t lowest(DType dtype) {
  if (dtype == DType::U8 || dtype == DType::U16) return 0;
  return -(std::int64_t{1} << (size_of(dtype) * 8 - 2)) * 2;
}
std::int64_t highest(DType dtype) {
  if (dtype == DType::U8 || dtype == DType::U16) return (std::int64_t{1} << size_of(dtype) * 8) - 1;
  return -(lowest(dtype) + 1);
}

std::int64_t scaled(DType dtype, std::int64_t value, double factor) {
  if (factor == 1.0 || dtype == DType::Bool) return value;
  const double whole = std::round(1.0 / factor);
  if (whole >= 2 && 1.0 / whole == factor) return value / static_cast<std::int64_t>(whole);
  const double product = std::trunc(static_cast<double>(value) * factor);
  if (product >= static_cast<double>(highest(dtype))) return highest(dtype);
  return std::max(lowest(dtype), static_cast<std::int64_t>(product));
}

// Inputs by node: each node reduces its own, in the order of its members; then the results of the nodes are reduced.
using ByNode = std::vector<std::vector<Bytes>>;

// Prescale is a step of its own: in the type that the values have. A node's sum travels in the type of the wire.
void reduce_float(const Call& call, const ByNode& nodes, double factor, std::size_t at, std::byte* out) {
  const DType wire = wire_type(call);
  double sum = 0;
  bool first = true;
  for (const auto& inputs : nodes) {
    double part = 0;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      double value = math::load_float(call.dtype, inputs[i].data() + at);
      if (call.prescale != 1.0) value = narrowed(call.dtype, value * call.prescale);
      value = narrowed(wire, value);
      part = i == 0 ? value : math::apply(wire, call.op, part, value);
    }
    if (inputs.empty()) continue;  // all of the node have joined
    if (nodes.size() > 1) part = narrowed(wire, part);
    sum = std::exchange(first, false) ? part : math::apply(wire, call.op, sum, part);
  }
  const double result = math::rounded(wire, sum * math::rounded(wire, factor));
  store_number(call.dtype, out, narrowed(wire, result));
}

void reduce_integer(const Call& call, const ByNode& nodes, double factor, std::size_t at, std::byte* out) {
  std::int64_t sum = 0;
  bool first = true;
  for (const auto& inputs : nodes) {
    for (const Bytes& input : inputs) {
      const auto value = scaled(call.dtype, math::load_integer(call.dtype, input.data() + at), call.prescale);
      sum = std::exchange(first, false) ? value : math::apply(call.dtype, call.op, sum, value);
    }
  }
  sum = scaled(call.dtype, sum, factor);
  std::memcpy(out, &sum, size_of(call.dtype));
}

ByNode inputs_by_node(const Call& call, int members) {
  std::vector<int> where = call.where;
  where.resize(static_cast<std::size_t>(members));
  const detail::Layout layout = detail::Layout::of(where);
  ByNode nodes;
  for (const auto& node : layout.nodes) {
    std::vector<Bytes> inputs;
    for (const int member : node)
      if (submits(call, member)) inputs.push_back(make_input(call, member, members));
    nodes.push_back(std::move(inputs));
  }
  return nodes;
}

std::vector<double> adasum(const std::vector<double>& a, const std::vector<double>& b) {
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) ab += a[i] * b[i], aa += a[i] * a[i], bb += b[i] * b[i];
  std::vector<double> sum;
  for (std::size_t i = 0; i < a.size(); ++i)
    sum.push_back((aa > 0 ? 1 - ab / (2 * aa) : 1) * a[i] + (bb > 0 ? 1 - ab / (2 * bb) : 1) * b[i]);
  return sum;
}

// Who has joined is a vector of zeros.
Bytes adasum(const Call& call, int members) {
  const std::size_t count = call.shape.elements(), size = size_of(call.dtype);
  std::vector<std::vector<double>> vectors(static_cast<std::size_t>(members), std::vector<double>(count));
  for (int m = 0; m < members; ++m) {
    if (!submits(call, m)) continue;
    const Bytes input = make_input(call, m, members);
    for (std::size_t i = 0; i < count; ++i) {
      const double value = math::load_float(call.dtype, input.data() + i * size) * call.prescale;
      vectors[static_cast<std::size_t>(m)][i] = narrowed(wire_type(call), value);
    }
  }
  while (vectors.size() > 1) {
    std::vector<std::vector<double>> next;
    for (std::size_t i = 0; i + 1 < vectors.size(); i += 2) next.push_back(adasum(vectors[i], vectors[i + 1]));
    if (vectors.size() % 2 == 1) next.push_back(vectors.back());
    vectors = std::move(next);
  }
  Bytes out(count * size);
  for (std::size_t i = 0; i < count; ++i)
    store_number(call.dtype, out.data() + i * size, narrowed(wire_type(call), vectors[0][i] * call.postscale));
  return out;
}

// Elements [begin, begin + count) of the reduction of all inputs.
Bytes reduced(const Call& call, int members, std::size_t begin, std::size_t count) {
  const ByNode inputs = inputs_by_node(call, members);
  const double factor = call.op == ReduceOp::Average ? call.postscale / members : call.postscale;
  const std::size_t size = size_of(call.dtype);
  Bytes out(count * size);
  for (std::size_t i = 0; i < count; ++i) {
    const auto reduce_one = math::is_float(call.dtype) ? reduce_float : reduce_integer;
    reduce_one(call, inputs, factor, (begin + i) * size, out.data() + i * size);
  }
  return out;
}

std::size_t row_bytes(const Call& call) {
  return call.shape.elements_per_row() * size_of(call.dtype);
}

void append_rows(const Call& call, Bytes& to, const Bytes& from, std::int64_t first, std::int64_t count) {
  const auto begin = from.begin() + static_cast<std::ptrdiff_t>(row_bytes(call)) * first;
  to.insert(to.end(), begin, begin + static_cast<std::ptrdiff_t>(row_bytes(call)) * count);
}

std::int64_t rows_before(const Call& call, int first, int count) {
  std::int64_t rows = 0;
  for (int i = first; i < first + count; ++i) rows += call.rows[static_cast<std::size_t>(i)];
  return rows;
}

Bytes gathered(const Call& call, int members) {
  Bytes out;
  for (int m = 0; m < members; ++m) {
    const Bytes input = make_input(call, m, members);
    out.insert(out.end(), input.begin(), input.end());
  }
  return out;
}

Bytes exchanged(const Call& call, int member, int members) {
  Bytes out;
  for (int from = 0; from < members; ++from) {
    const auto first = rows_before(call, from * members, member);
    append_rows(call, out, make_input(call, from, members), first, rows_before(call, from * members + member, 1));
  }
  return out;
}

}  // namespace

Bytes expected_output(const Call& call, int member, int members) {
  if (!gets(call, member)) return {};
  const std::size_t count = output_shape(call, member, members).elements();
  switch (call.operation) {
    case Operation::Allreduce:
      if (call.op == ReduceOp::Adasum) return adasum(call, members);
      return reduced(call, members, 0, count);
    case Operation::Reduce: return reduced(call, members, 0, count);
    case Operation::ReduceScatter: {
      std::size_t begin = 0;
      for (int m = 0; m < member; ++m) begin += output_shape(call, m, members).elements();
      return reduced(call, members, begin, count);
    }
    case Operation::Allgather:
    case Operation::Gather: return gathered(call, members);
    case Operation::Scatter: {
      Bytes out;
      append_rows(call, out, make_input(call, call.root, members), rows_before(call, 0, member),
                  rows_before(call, member, 1));
      return out;
    }
    case Operation::Broadcast: return make_input(call, call.root, members);
    case Operation::Alltoall: return exchanged(call, member, members);
    case Operation::Send: return make_input(call, call.sender, members);
    default: return {};
  }
}

double allowed_error(const Call& call, int members, double expected) {
  if (call.operation != Operation::Allreduce || call.op != ReduceOp::Adasum) return 0;
  // Values are up to 7, and no result is longer than the sum of its vectors.
  const double largest = 7.0 * members * std::abs(call.prescale * call.postscale);
  switch (wire_type(call)) {
    case DType::F64: return 1e-14 * largest;
    case DType::F32: return 1e-6 * largest;
    // The one rounding may go the other way: one step of 11 or 8 bits.
    case DType::F16: return std::abs(expected) * 0x1p-10 + 1e-6 * largest;
    default: return std::abs(expected) * 0x1p-7 + 1e-6 * largest;
  }
}

std::vector<std::int64_t> expected_splits(const Call& call, int member, int members) {
  std::vector<std::int64_t> splits;
  if (!gets(call, member)) return splits;
  const bool gathers = call.operation == Operation::Allgather || call.operation == Operation::Gather;
  for (int from = 0; from < members; ++from) {
    if (gathers) splits.push_back(input_shape(call, from, members).rows());
    if (call.operation == Operation::Alltoall) splits.push_back(rows_before(call, from * members + member, 1));
  }
  return splits;
}

}  // namespace ronde::comm::tests
