#include "ronde/bench/data/file_cache.h"

#include <cerrno>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ronde/base/error.h"
#include "ronde/base/system/file_descriptor.h"

namespace ronde::bench::detail {
namespace {

constexpr std::size_t kPiece = std::size_t{256} << 10;
constexpr double kMostRemembered = 0.05;

FileDescriptor open_file(const std::string& path) {
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) throw Error::system(errno, "cannot open {}", path);
  return file;
}

struct Pages {
  std::size_t all = 0, remembered = 0;
};

Pages pages_of(const FileDescriptor& file, const std::string& path) {
  struct stat facts {};
  if (::fstat(file.get(), &facts) != 0) throw Error::system(errno, "cannot read {}", path);
  const auto bytes = static_cast<std::size_t>(facts.st_size), page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  if (bytes == 0) return {};
  void* memory = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file.get(), 0);  // nothing is read by that
  if (memory == MAP_FAILED) throw Error::system(errno, "cannot read {}", path);
  std::vector<unsigned char> states((bytes + page - 1) / page);
  const bool known = ::mincore(memory, bytes, states.data()) == 0;
  ::munmap(memory, bytes);
  Pages pages{.all = states.size()};
  for (const unsigned char state : states) pages.remembered += !known || (state & 1);
  return pages;
}

}  // namespace

std::uint64_t read_files(std::span<const std::string> files) {
  std::vector<char> piece(kPiece);
  std::uint64_t bytes = 0;
  for (const std::string& path : files) {
    const FileDescriptor file = open_file(path);
    ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_SEQUENTIAL);  // as the other reader does
    while (true) {
      const ssize_t some = ::read(file.get(), piece.data(), piece.size());
      if (some < 0 && errno == EINTR) continue;
      if (some < 0) throw Error::system(errno, "cannot read {}", path);
      if (some == 0) break;
      bytes += static_cast<std::uint64_t>(some);
    }
  }
  return bytes;
}

bool forget_files(std::span<const std::string> files) {
  Pages all;
  for (const std::string& path : files) {
    const FileDescriptor file = open_file(path);
    ::fsync(file.get());  // what is not on the disk yet cannot be forgotten
    ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED);
    const Pages pages = pages_of(file, path);
    all.all += pages.all;
    all.remembered += pages.remembered;
  }
  return static_cast<double>(all.remembered) <= kMostRemembered * static_cast<double>(all.all);
}

}  // namespace ronde::bench::detail
