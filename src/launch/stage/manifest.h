#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ronde/launch/stage/tree_list.h"

namespace ronde::launch::detail {

// What was brought from where, kept beside it, so that the next job finds it and nobody else's files are removed. Pure.
struct Manifest {
  std::string source;
  std::uint64_t source_print = 0;  // fingerprint of what was there
  Entries entries = {};            // what is here

  std::string encode() const;
  // Absent: not a manifest, or cut off.
  static std::optional<Manifest> decode(std::string_view text);
};

// Whether all that the manifest lists is in `here` as it was; there may be more.
bool holds(const Entries& here, const Manifest& manifest);

// What is in `here` and the manifest does not list: somebody else's.
std::vector<std::string> foreign_to(const Manifest& manifest, const Entries& here);

}  // namespace ronde::launch::detail
