#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

// Work on many items by several threads, for tools: packing, scanning, verifying.
namespace ronde::data::detail {

// The cores that this process may use.
int usable_threads();

// Calls work(i) for each i from 0 up to `count`, on at most `threads` threads. When some fail, the others stop soon,
// and the error of the smallest i is thrown.
template <class Work>
void parallel_for(std::int64_t count, int threads, const Work& work) {
  std::atomic<std::int64_t> next{0}, failed_at{count};
  std::mutex mutex;
  std::exception_ptr failure;  // guarded by mutex
  const auto serve = [&] {
    for (std::int64_t i = next++; i < failed_at; i = next++) try {
        work(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (i < failed_at) {
          failed_at = i;
          failure = std::current_exception();
        }
      }
  };
  {
    std::vector<std::jthread> helpers;
    for (int i = 1; i < threads && i < count; ++i) helpers.emplace_back(serve);
    serve();
  }
  if (failure) std::rethrow_exception(failure);
}

// Calls make(i) for each i of [begin, end) on `threads` threads, and take(i, made) on this one, in order. No more than
// `window` items are made and not yet taken. An error of either ends it, and is thrown.
template <class Made, class Make, class Take>
void ordered_work(std::int64_t begin, std::int64_t end, int threads, std::int64_t window, const Make& make,
                  const Take& take) {
  std::mutex mutex;
  std::condition_variable room, ready;
  std::int64_t next = begin, taken = begin;
  bool stopped = false;
  std::map<std::int64_t, std::pair<std::optional<Made>, std::exception_ptr>> made;  // all guarded by mutex
  const auto serve = [&] {
    while (true) {
      std::int64_t i = 0;
      {
        std::unique_lock lock(mutex);
        room.wait(lock, [&] { return stopped || next >= end || next < taken + window; });
        if (stopped || next >= end) return;
        i = next++;
      }
      std::pair<std::optional<Made>, std::exception_ptr> result;
      try {
        result.first.emplace(make(i));
      } catch (...) {
        result.second = std::current_exception();
      }
      const std::lock_guard lock(mutex);
      made.emplace(i, std::move(result));
      ready.notify_one();
    }
  };
  std::vector<std::jthread> helpers;
  for (int i = 0; i < threads && i < end - begin; ++i) helpers.emplace_back(serve);
  try {
    for (std::int64_t i = begin; i < end; ++i) {
      std::unique_lock lock(mutex);
      ready.wait(lock, [&] { return made.contains(i); });
      auto result = std::move(made.extract(i).mapped());
      taken = i + 1;
      lock.unlock();
      room.notify_all();
      if (result.second) std::rethrow_exception(result.second);
      take(i, std::move(*result.first));
    }
  } catch (...) {
    {
      const std::lock_guard lock(mutex);
      stopped = true;
    }
    room.notify_all();
    throw;
  }
}

}  // namespace ronde::data::detail
