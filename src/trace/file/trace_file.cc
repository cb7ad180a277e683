#include "ronde/trace/file/trace_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "ronde/base/error.h"

namespace ronde::trace::detail {
namespace {

void make_folder(const std::filesystem::path& folder) {
  std::error_code problem;
  if (!folder.empty()) std::filesystem::create_directories(folder, problem);
  if (problem) throw Error::system(problem.value(), "cannot make the trace folder {}", folder.string());
}

}  // namespace

TraceFile::TraceFile(std::filesystem::path path) : path_(std::move(path)) {
  make_folder(path_.parent_path());
  fd_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (fd_ < 0) throw Error::system(errno, "cannot write the trace {}", path_.string());
  if (::flock(fd_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    ::close(fd_);
    throw Error(Error::Kind::System,
                fmt::format("cannot write the trace {}: another recorder is writing it", path_.string()));
  }
  [[maybe_unused]] const int emptied = ::ftruncate(fd_, 0);  // only now: it is ours; a device cannot be cut
}

TraceFile::~TraceFile() {
  ::close(fd_);
}

void TraceFile::append(std::string_view packets) {
  const std::int64_t whole = size_ + static_cast<std::int64_t>(packets.size());
  while (!packets.empty()) {
    const ssize_t count = ::write(fd_, packets.data(), packets.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const int number = errno;
      [[maybe_unused]] const int cut = ::ftruncate(fd_, size_);  // no use on a device, and nothing to be done about it
      throw Error::system(number, "cannot write the trace {}", path_.string());
    }
    packets.remove_prefix(static_cast<std::size_t>(count));
  }
  size_ = whole;
}

}  // namespace ronde::trace::detail
