#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

#include "ronde/base/system/clock.h"

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
    std::unique_lock lock(mutex_);
    if (!wait(lock, room_, until, [&] { return closed_ || items_.size() < capacity_; }) || closed_) return false;
    items_.push_back(std::move(item));
    lock.unlock();
    filled_.notify_one();
    return true;
  }

  // Waits for an item. Nothing when the queue is closed and empty, or the deadline passed.
  std::optional<T> pop(Deadline until = {}) {
    std::unique_lock lock(mutex_);
    wait(lock, filled_, until, [&] { return closed_ || !items_.empty(); });
    if (items_.empty()) return {};
    std::optional<T> item(std::move(items_.front()));
    items_.pop_front();
    lock.unlock();
    room_.notify_one();
    return item;
  }

  void close() {
    {
      std::lock_guard lock(mutex_);
      closed_ = true;
    }
    room_.notify_all();
    filled_.notify_all();
  }

  std::size_t size() const {
    std::lock_guard lock(mutex_);
    return items_.size();
  }
  std::size_t capacity() const { return capacity_; }

 private:
  template <class Ready>
  static bool wait(std::unique_lock<std::mutex>& lock, std::condition_variable& bell, Deadline until, Ready ready) {
    if (until.at()) return bell.wait_until(lock, *until.at(), ready);
    bell.wait(lock, ready);
    return true;
  }

  const std::size_t capacity_;
  mutable std::mutex mutex_;
  std::condition_variable room_;    // rung when an item was taken or the queue closed
  std::condition_variable filled_;  // rung when an item came or the queue closed
  std::deque<T> items_;             // guarded by mutex_
  bool closed_ = false;             // guarded by mutex_
};

}  // namespace ronde
