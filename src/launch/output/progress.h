#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace ronde::launch::detail {

// What threads that carry data tell the one that watches them, and it them. Safe from any thread.
struct Progress {
  std::atomic<std::uint64_t> done{0}, total{0};  // bytes
  std::atomic<bool> stop{false};                 // to be looked at often: give up, and leave nothing half done behind
};

}  // namespace ronde::launch::detail
