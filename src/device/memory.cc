#include "ronde/device/memory.h"

#include <unistd.h>

#include <new>
#include <utility>

#include "ronde/base/error.h"

// What needs no CUDA.
namespace ronde::device {
namespace {

std::align_val_t page_size() {
  return static_cast<std::align_val_t>(sysconf(_SC_PAGESIZE));
}

// Whole pages: two buffers in one page could not be pinned one after the other.
std::size_t whole_pages(std::size_t bytes) {
  const auto page = static_cast<std::size_t>(page_size());
  return (bytes + page - 1) / page * page;
}

std::byte* allocate_pages(std::size_t bytes) {
  void* pages = whole_pages(bytes) < bytes ? nullptr : ::operator new(whole_pages(bytes), page_size(), std::nothrow);
  if (!pages) throw Error(Error::Kind::System, fmt::format("cannot allocate {} bytes of host memory", bytes));
  return static_cast<std::byte*>(pages);
}

}  // namespace

void detail::free_pages(std::byte* pages) noexcept {
  ::operator delete(pages, page_size());
}

PinnedBuffer::PinnedBuffer(std::size_t bytes) {
  if (bytes == 0) return;
  pages_ = Unique<std::byte*, detail::free_pages>(allocate_pages(bytes));
  size_ = bytes;
  pin_ = Pin({pages_.get(), whole_pages(bytes)});
}

PinnedBuffer::PinnedBuffer(PinnedBuffer&& other) noexcept
    : size_(std::exchange(other.size_, 0)), pages_(std::move(other.pages_)), pin_(std::move(other.pin_)) {}

PinnedBuffer& PinnedBuffer::operator=(PinnedBuffer&& other) noexcept {
  PinnedBuffer taken(std::move(other));  // dies with our old parts, in the right order
  std::swap(size_, taken.size_);
  std::swap(pages_, taken.pages_);
  std::swap(pin_, taken.pin_);
  return *this;
}

DeviceBuffer::DeviceBuffer(DeviceBuffer&& other) noexcept
    : device_(std::exchange(other.device_, kHost)),
      size_(std::exchange(other.size_, 0)),
      memory_(std::move(other.memory_)) {}

DeviceBuffer& DeviceBuffer::operator=(DeviceBuffer&& other) noexcept {
  device_ = std::exchange(other.device_, kHost);
  size_ = std::exchange(other.size_, 0);
  memory_ = std::move(other.memory_);
  return *this;
}

std::string_view name(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::Host: return "host";
    case MemoryKind::Pinned: return "pinned";
    case MemoryKind::Device: return "device";
    case MemoryKind::Managed: return "managed";
  }
  return "unknown";
}

}  // namespace ronde::device
