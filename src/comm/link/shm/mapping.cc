#include "ronde/comm/link/shm/mapping.h"

#include <cerrno>

#include <optional>

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "ronde/base/error.h"
#include "ronde/base/text/units.h"

namespace ronde::comm::detail {
namespace {

// Mappings of one round size come to lie so that what has the same offset in each has the same low address bits, and a
// loop that writes to two of them is up to seven times slower. A few pages more, never touched, part them.
constexpr std::size_t kGap = 5 * 4096;

// In bytes; nothing: no limit.
std::optional<rlim_t> limit_of(__rlimit_resource resource) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return {};
  return limit.rlim_cur;
}

}  // namespace

FileDescriptor Mapping::make_file(std::size_t bytes) {
  FileDescriptor file(memfd_create("ronde", MFD_CLOEXEC));
  if (!file) throw Error::system(errno, "cannot create memory shared with the other ranks of this node");
  // Beyond this limit the kernel does not only refuse: it ends the process.
  if (const auto most = limit_of(RLIMIT_FSIZE); most && *most < bytes)
    throw Error(
        Error::Kind::System,
        fmt::format("cannot reserve {} of shared memory: files may have at most {} (ulimit -f); lift that limit "
                    "with 'ulimit -f unlimited', or lower comm.arena_bytes",
                    format_bytes(bytes), format_bytes(*most)));
  if (ftruncate(file.get(), static_cast<off_t>(bytes)) != 0)
    throw Error::system(errno, "cannot reserve {} of shared memory (comm.arena_bytes)", format_bytes(bytes));
  return file;
}

namespace {

Error no_address_space(int code, std::size_t bytes) {
  const auto most = limit_of(RLIMIT_AS);
  if (code != ENOMEM || !most)
    return Error::system(code, "cannot map {} of shared memory (comm.arena_bytes)", format_bytes(bytes));
  return {Error::Kind::System,
          fmt::format("cannot map {} of shared memory: a process may have at most {} of address space (ulimit -v), and "
                      "every rank maps comm.arena_bytes once per rank of its node; lift that limit with 'ulimit -v "
                      "unlimited', or lower comm.arena_bytes",
                      format_bytes(bytes), format_bytes(*most))};
}

}  // namespace

Mapping Mapping::of_file(int file, std::size_t bytes) {
  void* data = mmap(nullptr, bytes + kGap, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  if (data == MAP_FAILED) throw no_address_space(errno, bytes);
  return {static_cast<std::byte*>(data), bytes};
}

Mapping::~Mapping() {
  if (data_) munmap(data_, bytes_ + kGap);
}

bool Mapping::discard(std::size_t offset, std::size_t bytes) const {
  return madvise(data_ + offset, bytes, MADV_REMOVE) == 0;
}

}  // namespace ronde::comm::detail
