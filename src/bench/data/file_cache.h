#pragma once

#include <cstdint>
#include <span>
#include <string>

// Files that are read from the disk, or from the memory in which the kernel keeps what was read.
namespace ronde::bench::detail {

// Reads all of them with nothing but read(), into one small buffer. Returns the bytes. FAILS WITH: System.
std::uint64_t read_files(std::span<const std::string> files);

// Makes the kernel forget what it knows of the files. False when it remembers more than a twentieth of them all the
// same: other users of the files, or a file system in memory. FAILS WITH: System.
bool forget_files(std::span<const std::string> files);

}  // namespace ronde::bench::detail
