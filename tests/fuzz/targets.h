#pragma once

#include <cstddef>
#include <string_view>

namespace ronde::data::fuzz {

// A parser that is given any bytes: it ends well or with an Error, and never otherwise.
struct Target {
  std::string_view name;  // and the folder of its seeds
  void (*run)(std::string_view bytes);
};

// REQUIRES: one of the names in targets.txt.
const Target* find_target(std::string_view name);

}  // namespace ronde::data::fuzz
