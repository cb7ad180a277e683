#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace ronde::parallel::detail {

// Counts the bytes of tensors, and refuses those beyond a limit. `held` is what the system has given: what tensors use
// and what is kept for later ones. Safe to call from any thread; without a lock, since every small tensor comes by.
class ArenaMeter {
 public:
  // Zero: no limit. What is held already stays.
  void set_limit(std::uint64_t bytes) { limit_.store(bytes, std::memory_order_relaxed); }
  std::uint64_t limit() const { return limit_.load(std::memory_order_relaxed); }

  // Asks for `bytes` more from the system. False: they are beyond the limit, and nothing has changed.
  bool hold(std::uint64_t bytes) {
    const std::uint64_t most = limit();
    std::uint64_t held = held_.load(std::memory_order_relaxed);
    do {
      if (!fits(held, bytes, most)) return false;
    } while (!held_.compare_exchange_weak(held, held + bytes, std::memory_order_relaxed));
    return true;
  }
  bool allows(std::uint64_t bytes) const { return fits(held(), bytes, limit()); }
  void let_go(std::uint64_t bytes) { held_.fetch_sub(bytes, std::memory_order_relaxed); }

  // What is held is used by a tensor, or no more.
  void use(std::uint64_t bytes) { raise_peak(in_use_.fetch_add(bytes, std::memory_order_relaxed) + bytes); }
  void disuse(std::uint64_t bytes) { in_use_.fetch_sub(bytes, std::memory_order_relaxed); }

  void raise_peak(std::uint64_t to) {
    std::uint64_t peak = peak_.load(std::memory_order_relaxed);
    while (to > peak && !peak_.compare_exchange_weak(peak, to, std::memory_order_relaxed)) {
    }
  }
  // The peak so far; from now on it is counted anew.
  std::uint64_t take_peak() { return peak_.exchange(in_use(), std::memory_order_relaxed); }

  void count_hit() { hits_.fetch_add(1, std::memory_order_relaxed); }
  void count_miss() { misses_.fetch_add(1, std::memory_order_relaxed); }

  std::uint64_t held() const { return held_.load(std::memory_order_relaxed); }
  std::uint64_t in_use() const { return in_use_.load(std::memory_order_relaxed); }
  // The two are read one after the other: never less than nothing.
  std::uint64_t cached() const {
    const std::uint64_t used = in_use();
    return std::max(held(), used) - used;
  }
  std::uint64_t peak() const { return peak_.load(std::memory_order_relaxed); }
  std::uint64_t hits() const { return hits_.load(std::memory_order_relaxed); }
  std::uint64_t misses() const { return misses_.load(std::memory_order_relaxed); }

 private:
  static bool fits(std::uint64_t held, std::uint64_t bytes, std::uint64_t most) {
    return most == 0 || (bytes <= most && held <= most - bytes);
  }

  std::atomic<std::uint64_t> limit_ = 0, held_ = 0, in_use_ = 0, peak_ = 0, hits_ = 0, misses_ = 0;
};

}  // namespace ronde::parallel::detail
