#pragma once

#include <cstddef>
#include <utility>

#include "ronde/base/system/file_descriptor.h"

namespace ronde::comm::detail {

// Memory that several ranks see, reserved in full and filled page by page as it is touched. It has no name: nothing is
// left behind after a crash, and no limit of /dev/shm applies.
class Mapping {
 public:
  Mapping() = default;
  // FAILS WITH: System; the sentence names comm.arena_bytes, and the limit (ulimit -f, ulimit -v) where one is in the
  // way.
  static FileDescriptor make_file(std::size_t bytes);
  static Mapping of_file(int file, std::size_t bytes);

  Mapping(Mapping&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Mapping();

  std::byte* data() const { return data_; }
  std::size_t size() const { return bytes_; }

  // Gives the pages inside the range back; they read as zero from then on, on every rank. False when refused.
  bool discard(std::size_t offset, std::size_t bytes) const;

 private:
  Mapping(std::byte* data, std::size_t bytes) : data_(data), bytes_(bytes) {}

  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace ronde::comm::detail
