#include "ronde/data/io/growing_file.h"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "ronde/base/error.h"
#include "ronde/data/io/file_io.h"

namespace ronde::data::detail {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 20;  // that is written at once

}  // namespace

void check_size(const std::string& path, std::uint64_t bytes) {
  if (const std::uint64_t there = facts_of(path).bytes; there != bytes)
    throw Error::bad_input("{} has {} bytes, but {} were written", path, there, bytes);
}

GrowingFile::GrowingFile(std::string path, std::optional<std::uint64_t> kept) : path_(std::move(path)) {
  file_ = FileDescriptor(::open(path_.c_str(), O_RDWR | O_CLOEXEC | (kept ? 0 : O_CREAT | O_TRUNC), 0666));
  if (!file_ && errno == ENOENT && kept) throw Error::bad_input("{} does not exist", path_);
  if (!file_) throw Error::system(errno, "cannot write {}", path_);
  if (!kept) return;
  if (const std::uint64_t there = facts_of(file_, path_).bytes; there < *kept)
    throw Error::bad_input("{} has {} bytes, but {} were written", path_, there, *kept);
  const auto end = static_cast<off_t>(*kept);
  if (::ftruncate(file_.get(), end) != 0 || ::lseek(file_.get(), end, SEEK_SET) != end)
    throw Error::system(errno, "cannot write {}", path_);
  written_ = *kept;
}

void GrowingFile::append(std::string_view bytes) {
  waiting_ += bytes;
  if (waiting_.size() >= kPiece) flush();
}

void GrowingFile::flush() {
  write_all(file_, waiting_, path_);
  written_ += waiting_.size();
  waiting_.clear();
}

void GrowingFile::write_over(std::uint64_t offset, std::string_view bytes) {
  flush();
  const ssize_t written = ::pwrite(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
  if (written != static_cast<ssize_t>(bytes.size()))
    throw Error::system(written < 0 ? errno : ENOSPC, "cannot write {}", path_);
}

void GrowingFile::save() {
  flush();
  if (::fsync(file_.get()) != 0) throw Error::system(errno, "cannot write {}", path_);
}

}  // namespace ronde::data::detail
