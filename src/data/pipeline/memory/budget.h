#pragma once

#include <condition_variable>
#include <cstddef>
#include <optional>
#include <stop_token>
#include <utility>

#include "ronde/base/system/mutex.h"

namespace ronde::data {

// A number of bytes that may be in use at a time. Whoever is about to take memory asks first, and waits until there is
// room; so the sum is never above the limit, however slow the others are. Safe to call from any thread.
class Budget {
 public:
  // Bytes that were granted. They go back when it goes. Only moves; must not outlive the budget.
  class Reservation {
   public:
    Reservation() = default;
    Reservation(Reservation&& other) noexcept
        : from_(std::exchange(other.from_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
    Reservation& operator=(Reservation&& other) noexcept {
      std::swap(from_, other.from_);
      std::swap(bytes_, other.bytes_);
      return *this;
    }
    ~Reservation() { release(); }

    std::size_t bytes() const { return bytes_; }
    void release() noexcept;
    // Gives back what is above `bytes`.
    void shrink(std::size_t bytes) noexcept;
    // Counts more, whether or not there is room: for what is known only after it has been taken.
    void grow(std::size_t bytes) noexcept;
    // Holds what another held as well. REQUIRES: of the same budget.
    void take(Reservation other) noexcept {
      if (from_ == nullptr) from_ = other.from_;
      bytes_ += std::exchange(other.bytes_, 0);
    }

   private:
    friend class Budget;
    Reservation(Budget* from, std::size_t bytes) : from_(from), bytes_(bytes) {}
    Budget* from_ = nullptr;
    std::size_t bytes_ = 0;
  };

  // `all`: counts what is in use here as well, whether or not it has room.
  explicit Budget(std::size_t limit, Budget* all = nullptr) : limit_(limit), all_(all) {}

  // Waits for room; nothing when it is stopped meanwhile. More than all there is waits for ever: callers check against
  // limit().
  std::optional<Reservation> acquire(std::size_t bytes, const std::stop_token& stop);

  // Counts bytes that are there already; never waits.
  Reservation count(std::size_t bytes);

  std::size_t limit() const { return limit_; }
  std::size_t used() const;
  std::size_t peak() const;  // the most that was ever in use

 private:
  void change(std::size_t less, std::size_t more) noexcept;

  const std::size_t limit_;
  Budget* const all_;
  mutable Mutex mutex_;
  std::condition_variable_any room_;
  std::size_t used_ RONDE_GUARDED_BY(mutex_) = 0;
  std::size_t peak_ RONDE_GUARDED_BY(mutex_) = 0;
};

}  // namespace ronde::data
