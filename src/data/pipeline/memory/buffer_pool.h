#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <new>
#include <type_traits>
#include <vector>

#include "ronde/base/system/mutex.h"
#include "ronde/data/source.h"
#include "ronde/device/memory.h"

namespace ronde::data::detail {

// Numbers at an address that vector units and copies to a GPU like. It grows and never shrinks.
template <class T>
class AlignedArray {
 public:
  // Whether it had to grow: then what was inside is lost.
  bool reserve(std::size_t count, bool pinned) {
    if (count <= room_) return false;
    const std::size_t bytes = count * sizeof(T);
    if (pinned) {
      pages_ = device::PinnedBuffer(bytes);
    } else {
      memory_.reset();
      const bool large = bytes >= 2 * kHugePage;
      memory_ = Memory(static_cast<T*>(::operator new[](bytes, large ? std::align_val_t{kHugePage} : kAlignment)),
                       Free{large});
      // A few hundred page faults instead of ten thousand, and fewer misses when it is written around the cache.
      if (large) ::madvise(memory_.get(), bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
    }
    room_ = count;
    return true;
  }
  T* data() const { return memory_ ? memory_.get() : reinterpret_cast<T*>(pages_.data()); }

 private:
  static constexpr std::align_val_t kAlignment{64};
  static constexpr std::size_t kHugePage = std::size_t{2} << 20;
  struct Free {
    bool large = false;
    void operator()(T* memory) const { ::operator delete[](memory, large ? std::align_val_t{kHugePage} : kAlignment); }
  };
  using Memory = std::unique_ptr<T, Free>;
  Memory memory_{nullptr, Free{}};
  device::PinnedBuffer pages_;  // instead, where a GPU is to read it
  std::size_t room_ = 0;
};

// Features of that type that a sample of a kind has: all of them are of one.
template <class T>
std::size_t values_of(const SampleKind& kind) {
  const bool right = std::is_same_v<T, std::uint8_t> ? kind.u8
                     : std::is_same_v<T, Bf16>       ? kind.bf16 && !kind.u8
                                                     : !kind.bf16 && !kind.u8;
  return right ? kind.values() : 0;
}

// Memory for the samples of a batch.
struct BatchBuffer {
  void reserve(std::size_t samples, const SampleKind& kind, bool pinned) {
    const bool grew[] = {features.reserve(samples * values_of<float>(kind), pinned),
                         features16.reserve(samples * values_of<Bf16>(kind), pinned),
                         features8.reserve(samples * values_of<std::uint8_t>(kind), pinned),
                         augmentations.reserve(samples * kind.augmentation_values(), pinned),
                         classes.reserve(samples * kind.class_values(), pinned),
                         flags.reserve(samples * kind.flag_values(), pinned)};
    if (std::ranges::find(grew, true) != std::end(grew)) filled = 0;
  }

  AlignedArray<float> features;
  AlignedArray<Bf16> features16;         // instead, for kinds that are bf16
  AlignedArray<std::uint8_t> features8;  // or for those that are u8
  AlignedArray<Augmentation> augmentations;
  AlignedArray<std::int64_t> classes;
  AlignedArray<float> flags;
  std::size_t filled = 0;  // samples that have been written since it grew
};

// Buffers that wait to be used again: as many as were ever out at a time. Safe to call from any thread.
class BufferPool {
 public:
  // For a GPU their memory is pinned.
  explicit BufferPool(int device = device::kHost) : device_(device) {}
  int device() const { return device_; }

  std::unique_ptr<BatchBuffer> take() {
    {
      const Lock lock(mutex_);
      if (!idle_.empty()) {
        auto buffer = std::move(idle_.back());
        idle_.pop_back();
        return buffer;
      }
      ++made_;
      idle_.reserve(made_);  // so that giving back never allocates
    }
    return std::make_unique<BatchBuffer>();
  }
  void give_back(std::unique_ptr<BatchBuffer> buffer) noexcept {
    const Lock lock(mutex_);
    idle_.push_back(std::move(buffer));
  }
  std::size_t made() const {
    const Lock lock(mutex_);
    return made_;
  }

 private:
  const int device_;
  mutable Mutex mutex_;
  std::vector<std::unique_ptr<BatchBuffer>> idle_ RONDE_GUARDED_BY(mutex_);
  std::size_t made_ RONDE_GUARDED_BY(mutex_) = 0;
};

}  // namespace ronde::data::detail
