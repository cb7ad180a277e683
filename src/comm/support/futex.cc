#include "ronde/comm/support/futex.h"

#include <climits>
#include <ctime>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace ronde::comm::support {

void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected, Deadline until) {
  timespec timeout{};
  const auto left = until.left();
  if (left) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(*left);
    timeout.tv_sec = seconds.count();
    timeout.tv_nsec = (*left - seconds).count();
  }
  syscall(SYS_futex, &word, FUTEX_WAIT, expected, left ? &timeout : nullptr, nullptr, 0);
}

void futex_wake_all(const std::atomic<std::uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace ronde::comm::support
