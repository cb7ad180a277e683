#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>

#include "ronde/comm/types.h"

namespace ronde::comm::math {

// The type in which one computes with each DType, in the order of DType. f16 and bf16 are widened to f32 for it.
using Values = std::tuple<std::uint8_t, std::int8_t, std::uint16_t, std::int16_t, std::int32_t, std::int64_t, float,
                          float, float, double, std::uint8_t>;
static_assert(std::tuple_size_v<Values> == kDTypes);

constexpr std::size_t index(DType dtype) {
  return static_cast<std::size_t>(dtype);
}

constexpr bool is_half(DType dtype) {
  return dtype == DType::F16 || dtype == DType::BF16;
}

constexpr bool is_floating_point(DType dtype) {
  return is_half(dtype) || dtype == DType::F32 || dtype == DType::F64;
}

// A table with what Entry<type> holds as `value` for each DType.
template <template <class> class Entry>
constexpr auto per_dtype() {
  return []<std::size_t... i>(std::index_sequence<i...>) {
    return std::array{Entry<std::tuple_element_t<i, Values>>::value...};
  }(std::make_index_sequence<kDTypes>());
}

// Work goes on in blocks of this many bytes of values, which stay in the first-level cache from one step to the next.
// With 8 KiB four inputs took half as long again from memory: short turns keep the prefetchers busy on all of them.
inline constexpr std::size_t kBlockBytes = 2048;

constexpr auto kValueSizes = []<std::size_t... i>(std::index_sequence<i...>) {
  return std::array{sizeof(std::tuple_element_t<i, Values>)...};
}(std::make_index_sequence<kDTypes>());

constexpr std::size_t values_in_block(DType dtype) {
  return kBlockBytes / kValueSizes[index(dtype)];
}

}  // namespace ronde::comm::math
