#include "ronde/data/array.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include "ronde/base/error.h"
#include "ronde/base/text/format.h"

namespace ronde::data {
namespace {

constexpr std::align_val_t kAlignment{64};

struct Known {
  std::string_view name;
  std::size_t bytes;
};
constexpr auto kTypes = std::to_array<Known>(
    {{"u8", 1}, {"i8", 1}, {"u16", 2}, {"i16", 2}, {"i32", 4}, {"i64", 8}, {"bf16", 2}, {"f32", 4}, {"f64", 8}});

std::size_t checked_count(Type type, const Shape& shape) {
  if (std::ranges::find(shape, 0) != shape.end()) return 0;
  std::size_t count = 1;
  const std::size_t most = std::numeric_limits<std::ptrdiff_t>::max() / size_of(type);
  for (const std::int64_t length : shape) {
    const auto times = static_cast<std::size_t>(length);
    if (length < 0 || count > most / times) throw Error::bad_input("invalid array shape: {}", to_text(type, shape));
    count *= times;
  }
  return count;
}

}  // namespace

std::size_t size_of(Type type) {
  return kTypes[static_cast<std::size_t>(type)].bytes;
}

std::string_view name(Type type) {
  return kTypes[static_cast<std::size_t>(type)].name;
}

std::string to_text(Type type, const Shape& shape) {
  std::string text(name(type));
  for (std::size_t i = 0; i < shape.size(); ++i) text += fmt::format("{}{}", i == 0 ? "[" : ",", shape[i]);
  return shape.empty() ? text : text + "]";
}

std::string shape_text(const Shape& shape) {
  std::string text;
  for (const std::int64_t extent : shape) text += fmt::format("{}{}", text.empty() ? "" : " x ", extent);
  return text;
}

std::int64_t values_in(const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t length : shape) count *= length;
  return count;
}

Array::Array(Type type, Shape shape)
    : type_(type), ours_(true), count_(checked_count(type, shape)), shape_(std::move(shape)) {
  void* memory = ::operator new[](count_ * size_of(type_), kAlignment);
  memory_ = memory;
  owner_ = std::shared_ptr<const void>(memory, [](void* gone) { ::operator delete[](gone, kAlignment); });
}

Array Array::view(Type type, Shape shape, const void* memory, std::shared_ptr<const void> owner) {
  Array array;
  array.type_ = type;
  array.count_ = checked_count(type, shape);
  array.shape_ = std::move(shape);
  array.memory_ = memory;
  array.owner_ = std::move(owner);
  return array;
}

Array Array::on_device(Type type, Shape shape, const void* memory, std::shared_ptr<const void> owner, int device) {
  Array array = view(type, std::move(shape), memory, std::move(owner));
  array.device_ = device;
  return array;
}

Array Array::bytes_of(std::string_view text) {
  Array array(Type::U8, {static_cast<std::int64_t>(text.size())});
  if (!text.empty()) std::memcpy(array.writable(), text.data(), text.size());
  return array;
}

void* Array::writable() {
  if (!ours_ && count_ > 0) throw Error(Error::Kind::Bug, "an array view is read-only");
  return const_cast<void*>(memory_);  // ours: it came from operator new
}

double Array::number() const {
  if (count_ != 1) throw Error::bad_input("expected a single number, got {}", to_text(type_, shape_));
  switch (type_) {
    case Type::U8: return values<std::uint8_t>()[0];
    case Type::I8: return values<std::int8_t>()[0];
    case Type::U16: return values<std::uint16_t>()[0];
    case Type::I16: return values<std::int16_t>()[0];
    case Type::I32: return values<std::int32_t>()[0];
    case Type::I64: return static_cast<double>(values<std::int64_t>()[0]);
    case Type::F32: return values<float>()[0];
    case Type::F64: return values<double>()[0];
    case Type::BF16: break;
  }
  const std::uint32_t bits = std::uint32_t{values<Bf16>()[0].bits} << 16;
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

void Array::require(Type type) const {
  if (device_ >= 0)
    throw Error(Error::Kind::Bug, fmt::format("the host cannot read an array in the memory of GPU {}", device_));
  if (type != type_)
    throw Error(Error::Kind::Bug, fmt::format("array type is {}, but it was read as {}", name(type_), name(type)));
}

}  // namespace ronde::data
