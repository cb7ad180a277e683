#pragma once

#include <bit>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

// Numbers in the bytes of a file, little-endian, at any place.
namespace ronde::data::detail {

static_assert(std::endian::native == std::endian::little, "numbers are copied as they lie");

template <class Number>
void append_number(std::string& out, Number number) {
  out.append(reinterpret_cast<const char*>(&number), sizeof(number));
}

// REQUIRES: all of it is inside.
template <class Number>
Number number_at(std::string_view bytes, std::size_t at) {
  Number number{};
  std::memcpy(&number, bytes.data() + at, sizeof(number));
  return number;
}

}  // namespace ronde::data::detail
