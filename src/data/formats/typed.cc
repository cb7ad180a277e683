#include "ronde/data/formats/typed.h"

#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "ronde/base/error.h"

namespace ronde::data::files {
namespace {

constexpr std::array kAll = {Type::U8,  Type::I8,   Type::U16, Type::I16, Type::I32,
                             Type::I64, Type::BF16, Type::F32, Type::F64};

// The array of one value, out of one with several.
Array at(const Array& array, std::size_t index) {
  Array one(array.type(), {});
  std::memcpy(one.writable(), array.text().data() + index * size_of(array.type()), size_of(array.type()));
  return one;
}

}  // namespace

std::optional<Type> parse_type(std::string_view text) {
  for (const Type type : kAll)
    if (name(type) == text) return type;
  return {};
}

Array from_bytes(Type type, Shape shape, const Array& bytes, const std::string& what) {
  // An array of no memory, to have dimensions checked that a file gave.
  const std::size_t size = Array::view(type, shape, nullptr, nullptr).bytes();
  if (size != bytes.bytes())
    throw Error::bad_input("{} must be {} ({} bytes), but has {} bytes", what, to_text(type, shape), size,
                           bytes.bytes());
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % size_of(type) == 0) {
    auto owner = std::make_shared<Array>(bytes);
    return Array::view(type, std::move(shape), bytes.data(), std::move(owner));
  }
  Array array(type, std::move(shape));
  if (size > 0) std::memcpy(array.writable(), bytes.data(), size);
  return array;
}

std::int64_t whole_number(const Array& array, const std::string& what) {
  if (array.type() == Type::I64 && array.size() == 1) return array.values<std::int64_t>()[0];  // more than a double has
  const double number = array.number();
  constexpr double kMost = 9007199254740992;  // 2^53: from here on not all whole numbers are there
  if (!(std::abs(number) <= kMost) || std::nearbyint(number) != number)
    throw Error::bad_input("{} must be a whole number, got {}", what, number);
  return static_cast<std::int64_t>(number);
}

Array to_f32(const Array& array) {
  if (array.type() == Type::F32) return array;
  Array floats(Type::F32, array.shape());
  for (std::size_t i = 0; i < array.size(); ++i) floats.values<float>()[i] = static_cast<float>(at(array, i).number());
  return floats;
}

std::string number_text(const Array& array, std::size_t index) {
  const Array one = at(array, index);
  if (one.type() == Type::F32) return fmt::format("{}", one.values<float>()[0]);
  if (one.type() == Type::F64 || one.type() == Type::BF16) return fmt::format("{}", one.number());
  return fmt::format("{}", whole_number(one, "it"));
}

}  // namespace ronde::data::files
