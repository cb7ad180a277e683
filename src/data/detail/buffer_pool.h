#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "ronde/data/source.h"

namespace ronde::data::detail {

// Numbers at an address that vector units and copies to a GPU like. It grows and never shrinks.
template <class T>
class AlignedArray {
 public:
  // Whether it had to grow: then what was inside is lost.
  bool reserve(std::size_t count) {
    if (count <= room_) return false;
    memory_.reset(static_cast<T*>(::operator new[](count * sizeof(T), kAlignment)));
    room_ = count;
    return true;
  }
  T* data() const { return memory_.get(); }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(T* memory) const { ::operator delete[](memory, kAlignment); }
  };
  std::unique_ptr<T, Free> memory_;
  std::size_t room_ = 0;
};

// Memory for the samples of a batch.
struct BatchBuffer {
  void reserve(std::size_t samples, const SampleKind& kind) {
    const bool grew[] = {features.reserve(samples * kind.values()), classes.reserve(samples * kind.class_values()),
                         flags.reserve(samples * kind.flag_values())};
    if (grew[0] || grew[1] || grew[2]) filled = 0;
  }

  AlignedArray<float> features;
  AlignedArray<std::int64_t> classes;
  AlignedArray<float> flags;
  std::size_t filled = 0;  // samples that have been written since it grew
};

// Buffers that wait to be used again: as many as were ever out at a time. Safe to call from any thread.
class BufferPool {
 public:
  std::unique_ptr<BatchBuffer> take() {
    {
      std::lock_guard lock(mutex_);
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
    std::lock_guard lock(mutex_);
    idle_.push_back(std::move(buffer));
  }
  std::size_t made() const {
    std::lock_guard lock(mutex_);
    return made_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<BatchBuffer>> idle_;  // guarded by mutex_
  std::size_t made_ = 0;                            // guarded by mutex_
};

}  // namespace ronde::data::detail
