#pragma once

#include <sched.h>

#include "ronde/comm/link/shm/futex.h"

namespace ronde::comm::detail {

// How long to look for something before going to sleep: first in a tight loop, while what is awaited comes from another
// core within microseconds; then giving the core away each time, in case whom we wait for needs it. Sleeping costs a
// few microseconds to whoever wakes us and to us.
struct SpinPolicy {
  int spins = 2000;  // in a tight loop; about ten microseconds
  int yields = 50;

  // Ranks that share cores must not spin: the one they wait for may stand in line behind them. Who waits for another
  // node looks at sockets, which takes a hundred times as long as looking at memory.
  static SpinPolicy for_ranks(int ranks, int cores, bool one_node = true) {
    if (!one_node) return {.spins = 10, .yields = 200};
    return ranks > cores ? SpinPolicy{.spins = 20, .yields = 200} : SpinPolicy{};
  }

  // True as soon as `ready` is; false when all spins and yields are used up.
  template <class Ready>
  bool wait(Ready ready) const {
    for (int i = 0; i < spins; ++i) {
      if (ready()) return true;
      relax();
    }
    for (int i = 0; i < yields; ++i) {
      if (ready()) return true;
      sched_yield();
    }
    return ready();
  }
};

}  // namespace ronde::comm::detail
