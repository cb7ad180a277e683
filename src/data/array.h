#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace ronde::data {

// What an Array holds. Text, and whatever else is bytes to us (a JPEG), is U8.
enum class Type : std::uint8_t { U8, I8, U16, I16, I32, I64, BF16, F32, F64 };
std::size_t size_of(Type type);
std::string_view name(Type type);  // "u8"

// BF16 is kept as the upper half of a float's bits.
struct Bf16 {
  std::uint16_t bits = 0;
};

template <class T>
constexpr Type type_of();

using Shape = std::vector<std::int64_t>;

// Numbers or bytes of one type, row by row; no dimension at all is one number. Copies share the memory, which stays for
// as long as any of them. Safe to read from any thread; who writes must be the only one.
class Array {
 public:
  Array() = default;
  // New memory, aligned to 64 bytes, not filled with anything.
  // FAILS WITH: BadInput for a negative dimension, or more bytes than can be counted.
  Array(Type type, Shape shape);
  // Memory that someone else owns; `owner` keeps it.
  static Array view(Type type, Shape shape, const void* memory, std::shared_ptr<const void> owner);
  // Memory of a GPU: only for those who know what to do with data().
  static Array on_device(Type type, Shape shape, const void* memory, std::shared_ptr<const void> owner, int device);
  static Array bytes_of(std::string_view text);  // a copy, as U8
  template <class T>
  static Array scalar(T value) {
    Array array(type_of<T>(), Shape{});
    array.values<T>()[0] = value;
    return array;
  }

  Type type() const { return type_; }
  const Shape& shape() const { return shape_; }
  std::size_t size() const { return count_; }                    // values
  std::size_t bytes() const { return count_ * size_of(type_); }  // of all values
  bool empty() const { return count_ == 0; }
  int device() const { return device_; }  // which GPU has it; below 0: the host

  // REQUIRES: T is what type() says.
  template <class T>
  std::span<const T> values() const {
    require(type_of<T>());
    return {static_cast<const T*>(memory_), count_};
  }
  // REQUIRES: made by this program rather than a view, and nobody else looks.
  template <class T>
  std::span<T> values() {
    require(type_of<T>());
    return {static_cast<T*>(writable()), count_};
  }
  // The bytes of whatever it holds.
  std::string_view text() const {
    require(type_);
    return {static_cast<const char*>(memory_), bytes()};
  }
  const void* data() const { return memory_; }
  void* writable();

  // The one number that it holds, whatever its type. FAILS WITH: BadInput when it holds more, or none.
  double number() const;

 private:
  void require(Type type) const;

  Type type_ = Type::U8;
  bool ours_ = false;
  int device_ = -1;
  std::size_t count_ = 0;
  Shape shape_ = {0};
  const void* memory_ = nullptr;
  std::shared_ptr<const void> owner_;
};

std::string to_text(Type type, const Shape& shape);  // "u8[375,500,3]"
std::string shape_text(const Shape& shape);          // "375 x 500 x 3"
std::int64_t values_in(const Shape& shape);          // 1 for no dimension

template <class T>
constexpr Type type_of() {
  if constexpr (std::is_same_v<T, std::uint8_t>) return Type::U8;
  if constexpr (std::is_same_v<T, std::int8_t>) return Type::I8;
  if constexpr (std::is_same_v<T, std::uint16_t>) return Type::U16;
  if constexpr (std::is_same_v<T, std::int16_t>) return Type::I16;
  if constexpr (std::is_same_v<T, std::int32_t>) return Type::I32;
  if constexpr (std::is_same_v<T, std::int64_t>) return Type::I64;
  if constexpr (std::is_same_v<T, Bf16>) return Type::BF16;
  if constexpr (std::is_same_v<T, float>) return Type::F32;
  if constexpr (std::is_same_v<T, double>) return Type::F64;
}

}  // namespace ronde::data
