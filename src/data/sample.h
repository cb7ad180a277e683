#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ronde/data/array.h"

namespace ronde::data {

// One sample, as it is stored or as a step of a pipeline has made it: arrays by name. What several formats have in
// common is called the same everywhere: "image" (the bytes of an encoded picture, u8[n], or pixels, u8[h,w,c]), "class"
// (i64), "labels" (f32[classes], 0 or 1), "key" (its name, u8[n]). Other names are those of the file.
// A plain value; copies share the arrays.
class Sample {
 public:
  struct Named {
    std::string name;
    Array array;
  };

  // Replaces what has the name already.
  void set(std::string_view name, Array array);
  const Array* find(std::string_view name) const;  // nullptr: there is none
  // FAILS WITH: BadInput that says what there is instead.
  const Array& at(std::string_view name) const;
  bool erase(std::string_view name);

  const std::vector<Named>& arrays() const { return arrays_; }
  bool empty() const { return arrays_.empty(); }
  std::size_t bytes() const;  // of all arrays

 private:
  std::vector<Named> arrays_;  // few: looked through from the front
};

}  // namespace ronde::data
