#pragma once

#include <cerrno>
#include <string_view>

#include <unistd.h>

namespace ronde::train::detail {

// Writes all of `bytes`. False, with errno set, when that failed.
inline bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace ronde::train::detail
