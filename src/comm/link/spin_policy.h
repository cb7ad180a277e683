#pragma once

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>

#include "ronde/base/system/clock.h"

namespace ronde::comm::detail {

// Tells the processor that this is a spin loop.
inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#else
  std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
}

// How long to look for something before going to sleep: first in a tight loop, while what is awaited comes from another
// core within microseconds; then giving the core away each time, in case whom we wait for needs it. Sleeping costs a
// few microseconds to whoever wakes us and to us.
struct SpinPolicy {
  int spins = 2000;                      // in a tight loop; 10 to 100 microseconds, by processor
  int yields = 50;                       // at most,
  std::chrono::microseconds yielding{};  // and for so long at most; zero: however long that takes

  // Ranks that share cores must not spin: the one they wait for may stand in line behind them. Who waits for another
  // node looks at sockets, which takes a hundred times as long as looking at memory.
  static SpinPolicy for_ranks(int ranks, int cores, bool one_node = true) {
    if (!one_node) return {.spins = 10, .yields = 200};
    return ranks > cores ? SpinPolicy{.spins = 20, .yields = 200} : SpinPolicy{};
  }

  // The same for a thread that has nothing to do but to wait. On a core of its own it goes on until peers that were
  // asleep, and had to be woken one by one, would have come. If it went to sleep before, those that come late from one
  // call would find it asleep in the next, and be late again: each call would cost `ranks` wake-ups, for ever. Where
  // other programs take the core meanwhile, it sleeps after its turn: the scheduler is quicker to wake than to rotate.
  SpinPolicy in_a_call(int ranks) const {
    constexpr std::chrono::microseconds kWakeUp{50}, kLongest{2000};  // of an idle core in a virtual machine
    SpinPolicy call = *this;
    call.yielding = kLongest;
    if (spins == SpinPolicy{}.spins) {
      call.yields = std::numeric_limits<int>::max();
      call.yielding = std::min(kWakeUp * (ranks + 4), kLongest);
    }
    return call;
  }

  // True as soon as `ready` is; false when all spins and yields are used up.
  template <class Ready>
  bool wait(Ready ready) const {
    for (int i = 0; i < spins; ++i) {
      if (ready()) return true;
      relax();
    }
    const Deadline until = Deadline::after(yielding);
    for (int i = 0; i < yields && (yielding.count() == 0 || !until.passed()); ++i) {
      if (ready()) return true;
      sched_yield();
    }
    return ready();
  }
};

}  // namespace ronde::comm::detail
