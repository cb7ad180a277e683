#pragma once

#include <cstddef>
#include <filesystem>

namespace ronde::bench::detail {

struct DiskRead {
  double gb_s = 0;
  bool direct = false;  // around the page cache; otherwise the kernel was only asked to forget the file
};

// Writes a file into the folder, makes the kernel forget it, reads it from start to end, and removes it.
// FAILS WITH: BadInput for a folder that is none; System, naming it, when it cannot be written or is full.
DiskRead measure_disk(const std::filesystem::path& folder, std::size_t bytes);

}  // namespace ronde::bench::detail
