#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

namespace ronde::data::detail {

// Memory for the samples of a batch. It grows and never shrinks.
struct BatchBuffer {
 public:
  // Loses what is inside when it must grow.
  void reserve(std::size_t samples, std::size_t values_a_sample) {
    const std::size_t values = samples * values_a_sample;
    if (values > room_) {
      features_.reset(static_cast<float*>(::operator new[](values * sizeof(float), kAlignment)));
      room_ = values;
      filled = 0;
    }
    if (samples > labels_.size()) labels_.resize(samples);
  }
  float* features() const { return features_.get(); }
  std::int64_t* labels() { return labels_.data(); }

  std::size_t filled = 0;  // samples that have been written since it grew

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(float* memory) const { ::operator delete[](memory, kAlignment); }
  };

  std::unique_ptr<float, Free> features_;
  std::size_t room_ = 0;  // values
  std::vector<std::int64_t> labels_;
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
