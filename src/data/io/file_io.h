#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ronde/base/system/file_descriptor.h"
#include "ronde/base/system/mutex.h"

// Files that are read in places and written in one go. What is not there is bad input; all else that fails is the
// system's fault; each names the file.
namespace ronde::data::detail {

struct FileFacts {
  std::uint64_t bytes = 0;
  std::int64_t changed_ns = 0;  // since 1970
};

// FAILS WITH: BadInput (not there, no file), System.
FileDescriptor open_to_read(const std::string& path);
FileFacts facts_of(const std::string& path);
FileFacts facts_of(const FileDescriptor& file, const std::string& path);

// As many of `size` bytes as the file has from `offset` on: fewer only at its end. FAILS WITH: System.
std::size_t read_at(const FileDescriptor& file, std::uint64_t offset, void* into, std::size_t size,
                    const std::string& path);

// FAILS WITH: BadInput that names file and offset when the file ends before all of it; System.
std::string read_exactly(const FileDescriptor& file, std::uint64_t offset, std::size_t size, const std::string& path);

// FAILS WITH: System; a full disk says so.
void write_all(const FileDescriptor& file, std::string_view bytes, const std::string& path);

// Puts a file with these bytes in place of whatever has the name, in one step: nobody sees half of it. `durable`: sees
// it to the disk first. FAILS WITH: System.
void replace_file(const std::filesystem::path& path, std::string_view bytes, bool durable);

// Files that are read at any place by any thread: opened when first asked for, and closed again when too many are open.
class OpenFiles {
 public:
  explicit OpenFiles(std::vector<std::string> paths, std::size_t most_open = 128);

  // Stays open for as long as it is held. FAILS WITH: as open_to_read.
  std::shared_ptr<const FileDescriptor> get(std::size_t index) const;
  const std::string& path(std::size_t index) const { return paths_[index]; }
  std::size_t size() const { return paths_.size(); }

 private:
  const std::vector<std::string> paths_;
  const std::size_t most_open_;
  mutable Mutex mutex_;
  mutable std::vector<std::shared_ptr<const FileDescriptor>> files_ RONDE_GUARDED_BY(mutex_);  // null: closed
  mutable std::vector<std::size_t> open_ RONDE_GUARDED_BY(mutex_);  // in the order of opening
};

}  // namespace ronde::data::detail
