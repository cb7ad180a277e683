#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "ronde/base/system/mutex.h"
#include "ronde/trace/record/ring.h"
#include "ronde/trace/record/thread_log.h"

namespace ronde::trace::detail {

// Hands out logs to threads and takes them back when the thread is done and the writer has read all of it. Never holds
// more ring memory than its limit: a thread that comes when it is used up gets a ring that drops (and counts)
// everything. Thread-safe, but remove() and what snapshot() returns are for the writer alone: nobody else removes logs.
class LogBook {
 public:
  LogBook(ThreadLog::Shared shared, std::size_t bytes);

  ThreadLog& open(ThreadLog::Label label);
  std::vector<ThreadLog*> snapshot() const;
  void remove(ThreadLog& log);  // REQUIRES: finished, and read to its end

  std::uint64_t dropped() const;  // by all threads so far
  std::size_t ring_bytes() const { return capacity_ * sizeof(Cell); }

 private:
  std::unique_ptr<Ring> take_ring() RONDE_REQUIRES(mutex_);

  const ThreadLog::Shared shared_;
  const std::size_t capacity_;  // cells of a ring, while there is room for many
  mutable Mutex mutex_;         // held for moments, never while recording
  std::size_t bytes_left_ RONDE_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Ring>> spare_ RONDE_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<ThreadLog>> logs_ RONDE_GUARDED_BY(mutex_);
  std::uint64_t dropped_by_gone_ RONDE_GUARDED_BY(mutex_) = 0;
};

}  // namespace ronde::trace::detail
