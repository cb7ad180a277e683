#include "ronde/comm/link/mapping.h"

#include <cerrno>

#include <sys/mman.h>
#include <unistd.h>

#include "ronde/base/error.h"
#include "ronde/base/units.h"

namespace ronde::comm::detail {

FileDescriptor Mapping::make_file(std::size_t bytes) {
  FileDescriptor file(memfd_create("ronde", MFD_CLOEXEC));
  if (!file) throw Error::system(errno, "cannot make memory to share with the other ranks of this node");
  if (ftruncate(file.get(), static_cast<off_t>(bytes)) != 0)
    throw Error::system(errno, "cannot reserve {} of shared memory", format_bytes(bytes));
  return file;
}

Mapping Mapping::of_file(int file, std::size_t bytes) {
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  if (data == MAP_FAILED) throw Error::system(errno, "cannot map {} of shared memory", format_bytes(bytes));
  return {static_cast<std::byte*>(data), bytes};
}

Mapping::~Mapping() {
  if (data_) munmap(data_, bytes_);
}

void Mapping::discard(std::size_t offset, std::size_t bytes) const {
  madvise(data_ + offset, bytes, MADV_REMOVE);  // a refusal only costs memory
}

}  // namespace ronde::comm::detail
