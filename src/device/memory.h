#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "ronde/device/stream.h"
#include "ronde/device/unique.h"

namespace ronde::device {

namespace detail {
void free_pages(std::byte* pages) noexcept;
void unpin(std::byte* start) noexcept;
void free_device(std::byte* start) noexcept;
}  // namespace detail

enum class MemoryKind {
  Host,     // ordinary memory
  Pinned,   // host memory that the GPU reads and writes by itself
  Device,   // a GPU's own
  Managed,  // moves between both
};
MemoryKind memory_kind(const void* address);
std::string_view name(MemoryKind kind);

// Keeps memory that someone else owns, such as a shared mapping, pinned for as long as this lives. Does nothing where
// count() is 0. Pinning takes milliseconds a gigabyte: do it once.
// REQUIRES: the memory outlives this and is not pinned yet.
// FAILS WITH: System.
class Pin {
 public:
  Pin() noexcept = default;
  explicit Pin(std::span<std::byte> memory);
  explicit operator bool() const noexcept { return static_cast<bool>(start_); }

 private:
  Unique<std::byte*, detail::unpin> start_;
};

// Whole pages of host memory, pinned where there is a GPU. Not filled with anything.
// FAILS WITH: System when there is not so much.
class PinnedBuffer {
 public:
  PinnedBuffer() noexcept = default;
  explicit PinnedBuffer(std::size_t bytes);
  PinnedBuffer(PinnedBuffer&& other) noexcept;
  PinnedBuffer& operator=(PinnedBuffer&& other) noexcept;

  std::span<std::byte> bytes() const noexcept { return {pages_.get(), size_}; }
  std::byte* data() const noexcept { return pages_.get(); }
  std::size_t size() const noexcept { return size_; }
  bool pinned() const noexcept { return static_cast<bool>(pin_); }

 private:
  std::size_t size_ = 0;
  Unique<std::byte*, detail::free_pages> pages_;
  Pin pin_;  // after pages_: let go of before they are freed
};

// Memory of a GPU. Not filled with anything.
// FAILS WITH: BadInput for a GPU that is not there; System when it has not so much.
class DeviceBuffer {
 public:
  DeviceBuffer() noexcept = default;
  DeviceBuffer(int device, std::size_t bytes);
  DeviceBuffer(DeviceBuffer&& other) noexcept;
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept;

  int device() const noexcept { return device_; }
  std::byte* data() const noexcept { return memory_.get(); }  // an address on the GPU: not for the host to read
  std::size_t size() const noexcept { return size_; }

 private:
  int device_ = kHost;
  std::size_t size_ = 0;
  Unique<std::byte*, detail::free_device> memory_;
};

// Puts a copy into the stream, between any kinds of memory. On the host's stream it is done on return.
// REQUIRES: both stay until the copy is done and do not overlap; on the host's stream, memory that the host can reach.
// Ordinary host memory makes the calling thread wait; pinned memory does not.
// FAILS WITH: System.
void copy_async(void* to, const void* from, std::size_t bytes, const Stream& stream);

// Puts zeros there. REQUIRES, FAILS WITH: as copy_async.
void clear_async(void* memory, std::size_t bytes, const Stream& stream);

}  // namespace ronde::device
