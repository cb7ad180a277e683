#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <utility>

#include "ronde/base/system/clock.h"
#include "ronde/base/system/mutex.h"

namespace ronde {

// A queue of at most `capacity` items between any number of producers and consumers, first in, first out.
// Safe to call from any thread. After close() nothing can be pushed; what is inside can still be popped.
template <class T>
class BoundedQueue {
 public:
  // REQUIRES: capacity > 0.
  explicit BoundedQueue(std::size_t capacity) : capacity_(capacity) {}

  // Waits for room. False when the queue is closed (or the deadline passed): the item is still the caller's.
  bool push(T&& item, Deadline until = {}) {
    Lock lock(mutex_);
    const auto ready = [this]() RONDE_REQUIRES(mutex_) { return closed_ || items_.size() < capacity_; };
    if (!wait(lock, room_, until, ready) || closed_) return false;
    items_.push_back(std::move(item));
    lock.unlock();
    filled_.notify_one();
    return true;
  }

  // Waits for an item. Nothing when the queue is closed and empty, or the deadline passed.
  std::optional<T> pop(Deadline until = {}) {
    Lock lock(mutex_);
    wait(lock, filled_, until, [this]() RONDE_REQUIRES(mutex_) { return closed_ || !items_.empty(); });
    if (items_.empty()) return {};
    std::optional<T> item(std::move(items_.front()));
    items_.pop_front();
    lock.unlock();
    room_.notify_one();
    return item;
  }

  void close() {
    {
      const Lock lock(mutex_);
      closed_ = true;
    }
    room_.notify_all();
    filled_.notify_all();
  }

  std::size_t size() const {
    const Lock lock(mutex_);
    return items_.size();
  }
  std::size_t capacity() const { return capacity_; }

 private:
  template <class Ready>
  static bool wait(Lock& lock, Condition& bell, Deadline until, Ready ready) {
    if (until.at()) return bell.wait_until(lock, *until.at(), ready);
    bell.wait(lock, ready);
    return true;
  }

  const std::size_t capacity_;
  mutable Mutex mutex_;
  Condition room_;    // rung when an item was taken or the queue closed
  Condition filled_;  // rung when an item came or the queue closed
  std::deque<T> items_ RONDE_GUARDED_BY(mutex_);
  bool closed_ RONDE_GUARDED_BY(mutex_) = false;
};

}  // namespace ronde
