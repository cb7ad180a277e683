#include "ronde/data/samples/to_floats.h"

#include <algorithm>
#include <cstring>

namespace ronde::data {
namespace {

template <class T>
void copy_as_floats(const Array& from, std::span<float> into) {
  std::ranges::transform(from.values<T>(), into.begin(), [](T value) { return static_cast<float>(value); });
}

}  // namespace

void to_floats(const Array& from, std::span<float> into) {
  switch (from.type()) {
    case Type::U8: return copy_as_floats<std::uint8_t>(from, into);
    case Type::I8: return copy_as_floats<std::int8_t>(from, into);
    case Type::U16: return copy_as_floats<std::uint16_t>(from, into);
    case Type::I16: return copy_as_floats<std::int16_t>(from, into);
    case Type::I32: return copy_as_floats<std::int32_t>(from, into);
    case Type::I64: return copy_as_floats<std::int64_t>(from, into);
    case Type::F32: return copy_as_floats<float>(from, into);
    case Type::F64: return copy_as_floats<double>(from, into);
    case Type::BF16: break;
  }
  std::ranges::transform(from.values<Bf16>(), into.begin(), [](Bf16 value) {
    const std::uint32_t bits = std::uint32_t{value.bits} << 16;
    float number = 0;
    std::memcpy(&number, &bits, sizeof number);
    return number;
  });
}

}  // namespace ronde::data
