#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "ronde/base/system/mutex.h"

namespace ronde::comm::tests {

// Ends the program when a test hangs, which would otherwise take whoever runs it all day. Says what hung.
class Watchdog {
 public:
  explicit Watchdog(std::chrono::seconds limit, std::string what = "")
      : thread_([limit, what = std::move(what)](const std::stop_token& stop) {
          Mutex mutex;
          std::condition_variable_any bell;
          Lock lock(mutex);
          bell.wait_for(lock, stop, limit, [] { return false; });
          if (stop.stop_requested()) return;
          std::fprintf(stderr, "hangs for %lld s: %s\n", static_cast<long long>(limit.count()), what.c_str());
          std::abort();
        }) {}

 private:
  std::jthread thread_;
};

}  // namespace ronde::comm::tests
