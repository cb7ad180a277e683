#pragma once

#include <span>
#include <string_view>

namespace ronde::cli {

// An optional part of the build: found when CMake configured it, or left out.
struct Part {
  std::string_view name;
  bool built_in;
  std::string_view version;
  std::string_view package;  // what would bring it
  std::string_view purpose;
  std::string_view detail;  // where it was found
};

std::span<const Part> parts();

}  // namespace ronde::cli
