#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ronde/base/system/file_descriptor.h"

namespace ronde::trace::detail {

// The packets of a trace file, one after the other, through a buffer: a file may be larger than the memory.
class PacketFrames {
 public:
  // FAILS WITH: BadInput when it cannot be opened or begins with no packet.
  explicit PacketFrames(const std::filesystem::path& file);

  // The next packet; valid until the next call. None: the end, or damage().
  std::optional<std::string_view> next();

  // Where the packet that next() gave begins, or could not be given.
  std::uint64_t offset() const { return offset_; }
  const std::string& damage() const { return damage_; }  // empty: the file ends where a packet ends

 private:
  std::size_t left() const { return filled_ - at_; }
  void fill(std::size_t wanted);
  std::optional<std::string_view> stop(std::string why);

  std::filesystem::path file_;
  FileDescriptor descriptor_;
  std::vector<char> buffer_;
  std::size_t at_ = 0, filled_ = 0;
  std::uint64_t base_ = 0;  // where the buffer begins in the file
  std::uint64_t offset_ = 0;
  bool ended_ = false;
  std::string damage_;
};

}  // namespace ronde::trace::detail
