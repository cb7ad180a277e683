#include "ronde/data/io/file_io.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ronde/base/error.h"

namespace ronde::data::detail {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 30;  // the kernel moves less than 2 GiB at once

Error cannot_open(int number, const std::string& path) {
  if (number == ENOENT || number == ENOTDIR) return Error::bad_input("{} does not exist", path);
  if (number == EACCES) return Error::bad_input("cannot read {}: permission denied", path);
  return Error::system(number, "cannot open {}", path);
}

FileFacts facts_from(const struct stat& facts, const std::string& path) {
  if (!S_ISREG(facts.st_mode)) throw Error::bad_input("{} is not a file", path);
  return {.bytes = static_cast<std::uint64_t>(facts.st_size),
          .changed_ns = std::int64_t{facts.st_mtim.tv_sec} * 1'000'000'000 + facts.st_mtim.tv_nsec};
}

}  // namespace

FileDescriptor open_to_read(const std::string& path) {
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) throw cannot_open(errno, path);
  return file;
}

FileFacts facts_of(const std::string& path) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0) throw cannot_open(errno, path);
  return facts_from(facts, path);
}

FileFacts facts_of(const FileDescriptor& file, const std::string& path) {
  struct stat facts {};
  if (::fstat(file.get(), &facts) != 0) throw Error::system(errno, "cannot read {}", path);
  return facts_from(facts, path);
}

std::size_t read_at(const FileDescriptor& file, std::uint64_t offset, void* into, std::size_t size,
                    const std::string& path) {
  std::size_t done = 0;
  while (done < size) {
    const ssize_t some = ::pread(file.get(), static_cast<char*>(into) + done, std::min(size - done, kPiece),
                                 static_cast<off_t>(offset + done));
    if (some < 0 && errno == EINTR) continue;
    if (some < 0) throw Error::system(errno, "cannot read {} at byte {}", path, offset + done);
    if (some == 0) break;
    done += static_cast<std::size_t>(some);
  }
  return done;
}

std::string read_exactly(const FileDescriptor& file, std::uint64_t offset, std::size_t size, const std::string& path) {
  std::string bytes(size, '\0');
  const std::size_t got = read_at(file, offset, bytes.data(), size, path);
  if (got < size) throw Error::bad_input("{}: the file ends at byte {}, {} too early", path, offset + got, size - got);
  return bytes;
}

void write_all(const FileDescriptor& file, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file.get(), bytes.data(), std::min(bytes.size(), kPiece));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw Error::system(errno, "cannot write {}", path);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

void replace_file(const std::filesystem::path& path, std::string_view bytes, bool durable) {
  // A name of our own: several ranks may make the same index at once.
  std::string fresh = path.string() + ".XXXXXX";
  const FileDescriptor file(::mkostemp(fresh.data(), O_CLOEXEC));
  if (!file) throw Error::system(errno, "cannot write {}", path.string());
  try {
    write_all(file, bytes, fresh);
    ::fchmod(file.get(), 0644);  // mkostemp makes it for the owner alone, and data is shared
    if (durable && ::fsync(file.get()) != 0) throw Error::system(errno, "cannot write {}", fresh);
    if (std::rename(fresh.c_str(), path.c_str()) != 0) throw Error::system(errno, "cannot write {}", path.string());
  } catch (...) {
    ::unlink(fresh.c_str());
    throw;
  }
}

OpenFiles::OpenFiles(std::vector<std::string> paths, std::size_t most_open)
    : paths_(std::move(paths)), most_open_(most_open), files_(paths_.size()) {}

std::shared_ptr<const FileDescriptor> OpenFiles::get(std::size_t index) const {
  {
    const Lock lock(mutex_);
    if (files_[index]) return files_[index];
  }
  auto file = std::make_shared<const FileDescriptor>(open_to_read(paths_[index]));  // slow: without the lock
  const Lock lock(mutex_);
  if (files_[index]) return files_[index];  // another thread was faster
  if (open_.size() >= most_open_) {
    files_[open_.front()].reset();
    open_.erase(open_.begin());
  }
  files_[index] = file;
  open_.push_back(index);
  return file;
}

}  // namespace ronde::data::detail
