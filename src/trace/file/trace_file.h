#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace ronde::trace::detail {

// A file that only grows, by whole packets. Not thread-safe.
class TraceFile {
 public:
  // Replaces what was there, and makes the folder. FAILS WITH: System, naming the file.
  explicit TraceFile(std::filesystem::path path);
  ~TraceFile();
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  // All of `packets` or, when it fails, none: a piece that did get in is cut off again, so the file stays readable.
  // FAILS WITH: System, naming the file.
  void append(std::string_view packets);
  const std::filesystem::path& path() const { return path_; }

 private:
  const std::filesystem::path path_;
  int fd_ = -1;
  std::int64_t size_ = 0;
};

}  // namespace ronde::trace::detail
