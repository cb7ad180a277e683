#pragma once

#include <string>
#include <string_view>

#include "ronde/data/sample.h"

namespace ronde::data::files {

// Sees to it that all samples have the arrays of the first, for formats that keep an array of all samples in one piece.
class Uniform {
 public:
  // FAILS WITH: BadInput that names the sample and what is different: an array that is missing or new, another type or
  // shape. Bytes (u8[n]) may have any length where `bytes_vary`.
  void check(const Sample& sample, std::string_view key, bool bytes_vary);

 private:
  Sample first_;
  std::string first_key_;
  bool any_ = false;
};

// u8[n]: an encoded picture, a text.
bool is_bytes(const Array& array);

}  // namespace ronde::data::files
