#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string_view>
#include <thread>

#include "ronde/base/error.h"
#include "ronde/base/system/mutex.h"
#include "ronde/trace/file/drain.h"
#include "ronde/trace/file/trace_file.h"
#include "ronde/trace/record/wake.h"

namespace ronde::trace::detail {

// The thread that brings what was recorded to the file: every 200 ms, when the bell rings, and once more at the end.
// Safe to call from any thread.
class Writer {
 public:
  struct Parts {  // all outlive the writer
    LogBook& logs;
    Notes& notes;
    Wake& wake;
    TickClock clock;
  };

  // `on_failure` is called on the writer's thread when nothing more can be written; what comes after is thrown away.
  // FAILS WITH: System, when the file cannot be made or the thread not started.
  Writer(std::filesystem::path path, Parts parts, const Drain::Options& options, std::function<void()> on_failure);
  // Writes what is left, and how many events were dropped.
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // Waits until everything recorded before the call is in the file, or has failed to get there.
  void flush();
  std::optional<Error> error() const;
  const std::filesystem::path& path() const { return file_.path(); }

 private:
  void start();
  void write_until(const std::stop_token& stop) noexcept;
  void drain_round() noexcept;
  void append(std::string_view packets) noexcept;
  void fail(const Error& error) noexcept;

  TraceFile file_;
  const Parts parts_;
  const std::function<void()> on_failure_;
  const pid_t process_;  // a forked child has this object, but not its thread
  Drain drain_;

  mutable Mutex mutex_;
  std::optional<Error> error_ RONDE_GUARDED_BY(mutex_);
  std::uint64_t flushes_asked_ RONDE_GUARDED_BY(mutex_) = 0;
  std::uint64_t flushes_done_ RONDE_GUARDED_BY(mutex_) = 0;
  Condition flushed_;

  std::jthread thread_;
};

}  // namespace ronde::trace::detail
