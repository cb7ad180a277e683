#include "ronde/bench/machine/roofline_disk.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>

#include <fcntl.h>
#include <unistd.h>

#include "ronde/base/error.h"
#include "ronde/base/system/file_descriptor.h"

namespace ronde::bench::detail {
namespace {

constexpr std::size_t kBlock = std::size_t{4} << 20;
constexpr std::size_t kPage = 4096;

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};
using Block = std::unique_ptr<char, Free>;

// Direct reading wants whole pages.
Block make_block() {
  Block block(static_cast<char*>(std::aligned_alloc(kPage, kBlock)));
  if (!block) throw std::bad_alloc();
  // No two pages alike: some file systems compress.
  std::uint64_t state = 88172645463325252ULL;
  for (std::size_t i = 0; i + 8 <= kBlock; i += 8) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    std::memcpy(block.get() + i, &state, 8);
  }
  return block;
}

void write_file(int file, const std::string& path, std::size_t bytes, const Block& block) {
  for (std::size_t done = 0; done < bytes;) {
    const ssize_t some = ::write(file, block.get(), std::min(kBlock, bytes - done));
    if (some < 0 && errno == EINTR) continue;
    if (some <= 0) throw Error::system(errno, "cannot write {}", path);
    done += static_cast<std::size_t>(some);
  }
  if (::fsync(file) != 0) throw Error::system(errno, "cannot write {}", path);
  ::posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
}

std::size_t read_file(int file, const std::string& path, const Block& block) {
  std::size_t done = 0;
  while (true) {
    const ssize_t some = ::read(file, block.get(), kBlock);
    if (some < 0 && errno == EINTR) continue;
    if (some < 0) throw Error::system(errno, "cannot read {}", path);
    if (some == 0) return done;
    done += static_cast<std::size_t>(some);
  }
}

}  // namespace

DiskRead measure_disk(const std::filesystem::path& folder, std::size_t bytes) {
  if (!std::filesystem::is_directory(folder))
    throw Error::bad_input("{} is not a folder; it is needed to measure the file system", folder.string());
  std::string path = folder / "ronde-roofline-XXXXXX";
  const FileDescriptor written(::mkstemp(path.data()));
  if (written.get() < 0) throw Error::system(errno, "cannot create a file in {}", folder.string());
  const Block block = make_block();
  FileDescriptor direct(::open(path.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC));
  const FileDescriptor plain(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  ::unlink(path.c_str());  // it goes with the program, whatever happens
  write_file(written.get(), path, bytes / kBlock * kBlock, block);
  // Some file systems let a file be opened so, and then refuse to read it.
  const bool works = direct.get() >= 0 && ::pread(direct.get(), block.get(), kPage, 0) == static_cast<ssize_t>(kPage);
  const auto begin = std::chrono::steady_clock::now();
  const std::size_t got = read_file(works ? direct.get() : plain.get(), path, block);
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  return {.gb_s = static_cast<double>(got) / time.count() / 1e9, .direct = works};
}

}  // namespace ronde::bench::detail
