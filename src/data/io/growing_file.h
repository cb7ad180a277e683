#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ronde/base/system/file_descriptor.h"

namespace ronde::data::detail {

// What is said to be finished must be there. FAILS WITH: BadInput; System.
void check_size(const std::string& path, std::uint64_t bytes);

// A file that is written from front to back, a piece at a time. One that was begun by a program that was killed can be
// gone on with: what was seen to the disk of it stays, and what came after is cut off. Not thread-safe.
class GrowingFile {
 public:
  // Whatever has the name goes. With `kept`, that many bytes of it stay.
  // FAILS WITH: BadInput when it has fewer; System.
  explicit GrowingFile(std::string path, std::optional<std::uint64_t> kept = {});

  // FAILS WITH: System; a full disk says so.
  void append(std::string_view bytes);
  // Hands all of it to the system: a program that is killed has written it. FAILS WITH: System.
  void flush();
  // In place of bytes that were appended. FAILS WITH: System.
  void write_over(std::uint64_t offset, std::string_view bytes);
  // Sees all of it to the disk. FAILS WITH: System.
  void save();

  const std::string& path() const { return path_; }
  std::uint64_t bytes() const { return written_ + waiting_.size(); }

 private:
  std::string path_;
  FileDescriptor file_;
  std::string waiting_;
  std::uint64_t written_ = 0;
};

}  // namespace ronde::data::detail
