#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "ronde/comm/request.h"

namespace ronde::comm::detail {

// What a rank shows of what it is doing, for others to report when it does not come. Its engine alone writes. Zeroed
// memory is a valid start. A reader that meets a writer may see words of both; that is good enough to read.
class StatusArea {
 public:
  void set_request(Operation operation, std::string_view name, std::chrono::nanoseconds when);
  void set_step(std::int64_t step) { step_.store(step + 1, std::memory_order_relaxed); }

  // "step 17, last request allreduce 'w' 3 s ago"
  std::string text(std::chrono::nanoseconds now) const;

 private:
  static constexpr std::size_t kWords = 16;

  std::atomic<std::int64_t> step_;  // plus one; 0: none was set
  std::atomic<std::int64_t> when_;  // 0: there was no request
  std::atomic<std::uint64_t> operation_;
  std::array<std::atomic<std::uint64_t>, kWords> name_;  // its first letters, ended by a zero
};

}  // namespace ronde::comm::detail
