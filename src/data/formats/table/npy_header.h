#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "ronde/data/array.h"

namespace ronde::data::files {

// What the beginning of a NumPy file (.npy) says.
struct NpyHeader {
  Type type = Type::U8;
  Shape shape = {};
  std::size_t begin = 0;  // of the values
};

// Versions 1 to 3, little-endian, in C order, of types that we have; bool is u8.
// FAILS WITH: BadInput that names the file, which byte, and how to save it so that it can be read.
NpyHeader parse_npy_header(std::string_view file, const std::string& name);

// The header of such a file, for values that follow; at least `size` bytes. Pure.
// REQUIRES: type is not BF16, which NumPy has not.
std::string npy_header(Type type, const Shape& shape, std::size_t size = 0);

}  // namespace ronde::data::files
