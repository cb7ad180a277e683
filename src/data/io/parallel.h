#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <map>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "ronde/base/system/mutex.h"

// Work on many items by several threads, for tools: packing, scanning, verifying.
namespace ronde::data::detail {

// The cores that this process may use.
int usable_threads();

// Calls work(i) for each i from 0 up to `count`, on at most `threads` threads. When some fail, the others stop soon,
// and the error of the smallest i is thrown.
template <class Work>
void parallel_for(std::int64_t count, int threads, const Work& work) {
  std::atomic<std::int64_t> next{0}, failed_at{count};
  struct {
    Mutex mutex;
    std::exception_ptr failure RONDE_GUARDED_BY(mutex);
  } shared;
  const auto serve = [&] {
    for (std::int64_t i = next++; i < failed_at; i = next++) try {
        work(i);
      } catch (...) {
        const Lock lock(shared.mutex);
        if (i < failed_at) {
          failed_at = i;
          shared.failure = std::current_exception();
        }
      }
  };
  {
    std::vector<std::jthread> helpers;
    for (int i = 1; i < threads && i < count; ++i) helpers.emplace_back(serve);
    serve();
  }
  const Lock lock(shared.mutex);
  if (shared.failure) std::rethrow_exception(shared.failure);
}

// Calls make(i) for each i of [begin, end) on `threads` threads, and take(i, made) on this one, in order. No more than
// `window` items are made and not yet taken. An error of either ends it, and is thrown.
template <class Made, class Make, class Take>
void ordered_work(std::int64_t begin, std::int64_t end, int threads, std::int64_t window, const Make& make,
                  const Take& take) {
  struct Shared {
    explicit Shared(std::int64_t first) : next(first), taken(first) {}
    Mutex mutex;
    Condition room, ready;
    std::int64_t next RONDE_GUARDED_BY(mutex);
    std::int64_t taken RONDE_GUARDED_BY(mutex);
    bool stopped RONDE_GUARDED_BY(mutex) = false;
    std::map<std::int64_t, std::pair<std::optional<Made>, std::exception_ptr>> made RONDE_GUARDED_BY(mutex);
  } shared(begin);
  const auto serve = [&] {
    while (true) {
      std::int64_t i = 0;
      {
        Lock lock(shared.mutex);
        shared.room.wait(lock, [&]() RONDE_REQUIRES(shared.mutex) {
          return shared.stopped || shared.next >= end || shared.next < shared.taken + window;
        });
        if (shared.stopped || shared.next >= end) return;
        i = shared.next++;
      }
      std::pair<std::optional<Made>, std::exception_ptr> result;
      try {
        result.first.emplace(make(i));
      } catch (...) {
        result.second = std::current_exception();
      }
      const Lock lock(shared.mutex);
      shared.made.emplace(i, std::move(result));
      shared.ready.notify_one();
    }
  };
  std::vector<std::jthread> helpers;
  for (int i = 0; i < threads && i < end - begin; ++i) helpers.emplace_back(serve);
  try {
    for (std::int64_t i = begin; i < end; ++i) {
      Lock lock(shared.mutex);
      shared.ready.wait(lock, [&]() RONDE_REQUIRES(shared.mutex) { return shared.made.contains(i); });
      auto result = std::move(shared.made.extract(i).mapped());
      shared.taken = i + 1;
      lock.unlock();
      shared.room.notify_all();
      if (result.second) std::rethrow_exception(result.second);
      take(i, std::move(*result.first));
    }
  } catch (...) {
    {
      const Lock lock(shared.mutex);
      shared.stopped = true;
    }
    shared.room.notify_all();
    throw;
  }
}

}  // namespace ronde::data::detail
