#include "ronde/device/memory.h"
#include "ronde/base/text/format.h"

#include <cstring>

#include "ronde/device/cuda/check.h"

namespace ronde::device {

void detail::unpin(std::byte* start) noexcept {
  (void)cudaHostUnregister(start);
}

void detail::free_device(std::byte* start) noexcept {
  (void)cudaFree(start);
}

MemoryKind memory_kind(const void* address) {
  if (count() == 0) return MemoryKind::Host;
  cudaPointerAttributes attributes{};
  check(cudaPointerGetAttributes(&attributes, address), "querying the kind of memory at an address");
  switch (attributes.type) {
    case cudaMemoryTypeHost: return MemoryKind::Pinned;
    case cudaMemoryTypeDevice: return MemoryKind::Device;
    case cudaMemoryTypeManaged: return MemoryKind::Managed;
    default: return MemoryKind::Host;
  }
}

Pin::Pin(std::span<std::byte> memory) {
  if (memory.empty() || count() == 0) return;
  // Portable: pinned for every GPU, not only for the current one.
  check(cudaHostRegister(memory.data(), memory.size(), cudaHostRegisterPortable),
        fmt::format("pinning {} bytes of host memory", memory.size()));
  start_ = Unique<std::byte*, detail::unpin>(memory.data());
}

DeviceBuffer::DeviceBuffer(int device, std::size_t bytes) : device_(device), size_(bytes) {
  require_gpu(device);
  if (bytes == 0) return;
  const CurrentDevice current(device);
  void* memory = nullptr;
  check(cudaMalloc(&memory, bytes), fmt::format("allocating {} bytes", bytes));
  memory_ = Unique<std::byte*, detail::free_device>(static_cast<std::byte*>(memory));
}

void clear_async(void* memory, std::size_t bytes, const Stream& stream) {
  if (bytes == 0) return;
  if (stream.on_host()) {
    std::memset(memory, 0, bytes);
    return;
  }
  const CurrentDevice current(stream.device());
  check(cudaMemsetAsync(memory, 0, bytes, stream.native()), fmt::format("clearing {} bytes", bytes));
}

void copy_async(void* to, const void* from, std::size_t bytes, const Stream& stream) {
  if (bytes == 0) return;
  if (stream.on_host()) {
    std::memcpy(to, from, bytes);
    return;
  }
  const CurrentDevice current(stream.device());
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream.native()), fmt::format("copying {} bytes", bytes));
}

}  // namespace ronde::device
