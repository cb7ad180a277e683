#include "ronde/comm/link/mapping.h"

#include <cerrno>

#include <sys/mman.h>
#include <unistd.h>

#include "ronde/base/error.h"
#include "ronde/base/units.h"

namespace ronde::comm::detail {
namespace {

// Mappings of one round size come to lie so that what has the same offset in each has the same low address bits, and a
// loop that writes to two of them is up to seven times slower. A few pages more, never touched, part them.
constexpr std::size_t kGap = 5 * 4096;

}  // namespace

FileDescriptor Mapping::make_file(std::size_t bytes) {
  FileDescriptor file(memfd_create("ronde", MFD_CLOEXEC));
  if (!file) throw Error::system(errno, "cannot make memory to share with the other ranks of this node");
  if (ftruncate(file.get(), static_cast<off_t>(bytes)) != 0)
    throw Error::system(errno, "cannot reserve {} of shared memory", format_bytes(bytes));
  return file;
}

Mapping Mapping::of_file(int file, std::size_t bytes) {
  void* data = mmap(nullptr, bytes + kGap, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  if (data == MAP_FAILED) throw Error::system(errno, "cannot map {} of shared memory", format_bytes(bytes));
  return {static_cast<std::byte*>(data), bytes};
}

Mapping::~Mapping() {
  if (data_) munmap(data_, bytes_ + kGap);
}

bool Mapping::discard(std::size_t offset, std::size_t bytes) const {
  return madvise(data_ + offset, bytes, MADV_REMOVE) == 0;
}

}  // namespace ronde::comm::detail
