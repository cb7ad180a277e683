#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "ronde/comm/math/half_reference.h"
#include "ronde/comm/types.h"

namespace ronde::comm::math {

// For tests: what reduce.h and convert.h promise, one element at a time, slowly and without templates over types.
// Integers live in 64 bits, of which the low bytes are stored; floating-point numbers in f64, which rounds a sum or a
// product of f32 numbers to f32 just as f32 arithmetic does.
using Elements = std::vector<std::byte>;

inline bool is_float(DType dtype) {
  return dtype == DType::F16 || dtype == DType::BF16 || dtype == DType::F32 || dtype == DType::F64;
}

inline std::int64_t load_integer(DType dtype, const std::byte* at) {
  const std::size_t size = size_of(dtype);
  const bool is_signed = dtype == DType::I8 || dtype == DType::I16 || dtype == DType::I32 || dtype == DType::I64;
  const bool negative = is_signed && (std::to_integer<int>(at[size - 1]) & 0x80) != 0;
  std::int64_t value = negative ? -1 : 0;
  std::memcpy(&value, at, size);
  return value;
}

inline double load_float(DType dtype, const std::byte* at) {
  std::uint16_t half = 0;
  float single = 0;
  double value = 0;
  if (dtype == DType::F64) std::memcpy(&value, at, 8);
  if (dtype == DType::F32) std::memcpy(&single, at, 4), value = single;
  if (dtype == DType::F16) std::memcpy(&half, at, 2), value = kF16Format.decode(half);
  if (dtype == DType::BF16) std::memcpy(&half, at, 2), value = kBF16Format.decode(half);
  return value;
}

inline void store_float(DType dtype, std::byte* at, double value) {
  const auto single = static_cast<float>(value);
  const std::uint16_t half = dtype == DType::F16 ? kF16Format.encode(value) : kBF16Format.encode(value);
  if (dtype == DType::F64) std::memcpy(at, &value, 8);
  if (dtype == DType::F32) std::memcpy(at, &single, 4);
  if (dtype == DType::F16 || dtype == DType::BF16) std::memcpy(at, &half, 2);
}

inline double rounded(DType dtype, double value) {
  return dtype == DType::F64 ? value : static_cast<float>(value);
}

inline double apply(DType dtype, ReduceOp op, double a, double b) {
  if (op == ReduceOp::Product) return rounded(dtype, a * b);
  if (op == ReduceOp::Sum || op == ReduceOp::Average) return rounded(dtype, a + b);
  if (std::isnan(a) || std::isnan(b)) return std::nan("");
  return op == ReduceOp::Min ? (b < a ? b : a) : (b > a ? b : a);
}

inline std::int64_t apply(DType dtype, ReduceOp op, std::int64_t a, std::int64_t b) {
  const auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
  std::uint64_t result = 0;
  switch (op) {
    case ReduceOp::Sum:
    case ReduceOp::Average: result = dtype == DType::Bool ? x | y : x + y; break;
    case ReduceOp::Product: result = dtype == DType::Bool ? x & y : x * y; break;
    case ReduceOp::Min: return a < b ? a : b;
    case ReduceOp::Max: return a > b ? a : b;
    case ReduceOp::Adasum: break;  // not element by element
  }
  Elements bytes(8);
  std::memcpy(bytes.data(), &result, 8);
  return load_integer(dtype, bytes.data());
}

// REQUIRES: the result fits.
inline std::int64_t scaled_integer(std::int64_t value, double scale) {
  if (scale == 1.0) return value;
  return scale == 0.5 ? value / 2 : static_cast<std::int64_t>(static_cast<double>(value) * scale);
}

inline void reduce_element(DType dtype, ReduceOp op, std::byte* out, const std::vector<Elements>& inputs,
                           std::size_t at, double scale) {
  if (is_float(dtype)) {
    double value = load_float(dtype, inputs[0].data() + at);
    for (std::size_t i = 1; i < inputs.size(); ++i)
      value = apply(dtype, op, value, load_float(dtype, inputs[i].data() + at));
    return store_float(dtype, out + at, rounded(dtype, value * rounded(dtype, scale)));
  }
  std::int64_t value = load_integer(dtype, inputs[0].data() + at);
  for (std::size_t i = 1; i < inputs.size(); ++i)
    value = apply(dtype, op, value, load_integer(dtype, inputs[i].data() + at));
  if (dtype != DType::Bool) value = scaled_integer(value, scale);
  std::memcpy(out + at, &value, size_of(dtype));
}

inline Elements slow_reduce(DType dtype, ReduceOp op, const std::vector<Elements>& inputs, double scale) {
  Elements out(inputs[0].size());
  for (std::size_t at = 0; at < out.size(); at += size_of(dtype))
    reduce_element(dtype, op, out.data(), inputs, at, scale);
  return out;
}

// Ordinary numbers, and among them any pattern there is: NaN, infinity, denormals.
inline Elements random_elements(DType dtype, std::size_t count, std::mt19937_64& random) {
  Elements bytes(count * size_of(dtype));
  for (std::size_t at = 0; at < bytes.size(); at += size_of(dtype)) {
    std::uint64_t pattern = random();
    if (dtype == DType::Bool) pattern &= 1;
    std::memcpy(bytes.data() + at, &pattern, size_of(dtype));
    if (is_float(dtype) && random() % 4 != 0)
      store_float(dtype, bytes.data() + at, static_cast<double>(static_cast<std::int64_t>(pattern)) * 0x1p-62);
  }
  return bytes;
}

// The same bits, where any NaN equals any other. Returns the first element that differs, or -1.
inline std::ptrdiff_t first_difference(DType dtype, const std::byte* a, const std::byte* b, std::size_t count) {
  const std::size_t size = size_of(dtype);
  for (std::size_t i = 0; i < count; ++i) {
    if (std::memcmp(a + i * size, b + i * size, size) == 0) continue;
    if (is_float(dtype) && std::isnan(load_float(dtype, a + i * size)) && std::isnan(load_float(dtype, b + i * size)))
      continue;
    return static_cast<std::ptrdiff_t>(i);
  }
  return -1;
}

}  // namespace ronde::comm::math
