#include "ronde/parallel/detail/arena_backing.h"

#include <algorithm>
#include <cerrno>

#include <sys/mman.h>

#include "ronde/base/error.h"
#include "ronde/base/text/units.h"

namespace ronde::parallel::detail {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kStep = std::size_t{64} << 20;
constexpr std::size_t kLeast = std::size_t{256} << 20;

// Addresses alone, which cost nothing. A process may be allowed only so many (ulimit -v).
std::pair<std::byte*, std::size_t> reserve(std::size_t most) {
  for (std::size_t bytes = std::max(most, kLeast) / kStep * kStep;; bytes = bytes / 2 / kStep * kStep) {
    void* data = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data != MAP_FAILED) return {static_cast<std::byte*>(data), bytes};
    if (bytes / 2 < kLeast) throw Error::system(errno, "cannot reserve {} of address space", format_bytes(bytes));
  }
}

}  // namespace

void ArenaBacking::discard(std::size_t offset, std::size_t bytes) {
  const std::size_t begin = (offset + kPage - 1) / kPage * kPage, end = (offset + bytes) / kPage * kPage;
  if (begin < end) (void)madvise(data_ + begin, end - begin, advice_);  // a refusal only costs memory
}

PrivateBacking::PrivateBacking(std::size_t most) : PrivateBacking(reserve(most)) {}

PrivateBacking::PrivateBacking(std::pair<std::byte*, std::size_t> range)
    : ArenaBacking(range.first, range.second, MADV_DONTNEED) {}

PrivateBacking::~PrivateBacking() {
  munmap(data(), size());
}

bool PrivateBacking::commit(std::size_t bytes) {
  if (bytes <= committed_) return true;
  if (bytes > size()) return false;
  const std::size_t wanted = std::min(size(), (bytes + kStep - 1) / kStep * kStep);
  if (mprotect(data() + committed_, wanted - committed_, PROT_READ | PROT_WRITE) != 0) return false;
  committed_ = wanted;
  return true;
}

SharedBacking::SharedBacking(comm::SharedMemory memory)
    : ArenaBacking(memory.data(), memory.size(), MADV_REMOVE), memory_(std::move(memory)) {}

}  // namespace ronde::parallel::detail
