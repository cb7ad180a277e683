#pragma once

#include <atomic>
#include <cstdint>

#include "ronde/base/system/clock.h"

// The raw futex calls, in the form that works between processes: std::atomic::wait uses the private form, which wakes
// only threads of one process.
namespace ronde::comm::support {

// Sleeps until somebody wakes `word`, unless it is no longer `expected`. May return for no reason.
void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected, Deadline until);
void futex_wake_all(const std::atomic<std::uint32_t>& word);

}  // namespace ronde::comm::support
