#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <vector>

#include "ronde/base/system/mutex.h"

namespace ronde::device {

// The memory that CUPTI writes its records into, on its way between CUPTI's threads (which may be the program's own, in
// the middle of a launch) and the thread that reads them. Handing over is all that happens on the former. Thread-safe;
// never throws.
class ActivityBuffers {
 public:
  // About 5000 kernels. CUPTI hands a buffer over when it is full, so a larger one would only come later.
  static constexpr std::size_t kBytes = std::size_t{1} << 20;
  // More are not made: then the reader is behind, and CUPTI drops (and counts) what it finds no room for.
  static constexpr std::size_t kMost = 64;

  struct Filled {
    std::uint8_t* start = nullptr;
    std::size_t bytes = 0;
  };

  ActivityBuffers();
  ~ActivityBuffers();
  ActivityBuffers(const ActivityBuffers&) = delete;
  ActivityBuffers& operator=(const ActivityBuffers&) = delete;

  // --- CUPTI's side
  std::uint8_t* take() noexcept;  // null: all are in use, or there is no memory
  void put(Filled buffer) noexcept;

  // --- the reader's side
  // From begin() to end() buffers are kept for next(); otherwise what comes in is thrown away.
  void begin() noexcept;
  void end() noexcept;
  // The oldest that is filled. Waits for one; nothing when stopped and none is left.
  std::optional<Filled> next(const std::stop_token& stop) noexcept;
  void give_back(std::uint8_t* buffer) noexcept;

 private:
  Mutex mutex_;
  std::condition_variable_any came_;
  std::size_t made_ RONDE_GUARDED_BY(mutex_) = 0;
  bool reading_ RONDE_GUARDED_BY(mutex_) = false;
  std::vector<std::uint8_t*> spare_
      RONDE_GUARDED_BY(mutex_);  // owned; with room for kMost, like filled_: neither grows later
  std::vector<Filled> filled_ RONDE_GUARDED_BY(mutex_);  // oldest first
};

}  // namespace ronde::device
