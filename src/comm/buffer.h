#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "ronde/comm/types.h"
#include "ronde/device/device.h"

namespace ronde::comm {

// The extents of a tensor, first dimension first. No dimensions: a single value. A plain value, without allocation.
class Shape {
 public:
  static constexpr std::size_t kMost = 8;

  Shape() = default;
  // FAILS WITH: BadInput for more than kMost dimensions, or a negative one.
  Shape(std::initializer_list<std::int64_t> extents) : Shape(std::span(extents.begin(), extents.size())) {}
  explicit Shape(std::span<const std::int64_t> extents);

  std::span<const std::int64_t> extents() const { return {extents_.data(), dimensions_}; }
  std::size_t dimensions() const { return dimensions_; }

  std::size_t elements() const;
  // What the collectives that cut or join along the first dimension count: a single value is one row.
  std::int64_t rows() const { return dimensions_ == 0 ? 1 : extents_[0]; }
  std::size_t elements_per_row() const;
  Shape with_rows(std::int64_t rows) const;  // the same with another first dimension

  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  std::array<std::int64_t, kMost> extents_{};
  std::size_t dimensions_ = 0;
};

std::string to_text(const Shape& shape);  // "[3, 4]"

// A tensor as the engine sees it: where it lies and what is in it. Owns nothing.
struct Buffer {
  void* data = nullptr;
  DType dtype = DType::F32;
  Shape shape = {};
  std::vector<std::int64_t> strides = {};  // in elements; empty: contiguous. Gaps are refused; see docs/engine.md
  int device = device::kHost;              // where `data` is

  std::size_t bytes() const { return shape.elements() * size_of(dtype); }
};

template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, bool>) return DType::Bool;
  if constexpr (std::is_same_v<T, std::uint8_t>) return DType::U8;
  if constexpr (std::is_same_v<T, std::int8_t>) return DType::I8;
  if constexpr (std::is_same_v<T, std::uint16_t>) return DType::U16;
  if constexpr (std::is_same_v<T, std::int16_t>) return DType::I16;
  if constexpr (std::is_same_v<T, std::int32_t>) return DType::I32;
  if constexpr (std::is_same_v<T, std::int64_t>) return DType::I64;
  if constexpr (std::is_same_v<T, float>) return DType::F32;
  if constexpr (std::is_same_v<T, double>) return DType::F64;
}

// The values of a vector or array as a buffer of one dimension.
template <class T>
Buffer buffer_of(std::span<T> values) {
  return {.data = const_cast<std::remove_const_t<T>*>(values.data()),
          .dtype = dtype_of<std::remove_const_t<T>>(),
          .shape = {static_cast<std::int64_t>(values.size())}};
}
template <class T>
Buffer buffer_of(std::vector<T>& values) {
  return buffer_of(std::span(values));
}

}  // namespace ronde::comm
