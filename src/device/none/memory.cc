#include "ronde/device/memory.h"

#include <cstring>

namespace ronde::device {

void detail::unpin(std::byte*) noexcept {}

void detail::free_device(std::byte*) noexcept {}

MemoryKind memory_kind(const void*) {
  return MemoryKind::Host;
}

Pin::Pin(std::span<std::byte>) {}

DeviceBuffer::DeviceBuffer(int device, std::size_t) {
  require_gpu(device);
}

void clear_async(void* memory, std::size_t bytes, const Stream&) {
  if (bytes > 0) std::memset(memory, 0, bytes);
}

void copy_async(void* to, const void* from, std::size_t bytes, const Stream&) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}

}  // namespace ronde::device
