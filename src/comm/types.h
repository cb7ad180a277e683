#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ronde::comm {

// What the elements of a buffer are. Bool is one byte that is 0 or 1.
enum class DType : std::uint8_t { U8, I8, U16, I16, I32, I64, F16, BF16, F32, F64, Bool };

inline constexpr int kDTypes = 11;

std::size_t size_of(DType dtype);
std::string_view name(DType dtype);  // "bf16"

// How values of several ranks become one. Average is Sum divided by the number of ranks, for floating-point types and
// integers alike (integers round towards zero). For Bool: Sum and Max are "or", Product and Min are "and".
// Adasum, for allreduce of floating-point types: between the sum, of vectors that are orthogonal, and the mean, of
// vectors that are parallel; each tensor is a vector (docs/engine.md).
enum class ReduceOp : std::uint8_t { Sum, Average, Min, Max, Product, Adasum };

std::string_view name(ReduceOp op);  // "average"

}  // namespace ronde::comm
