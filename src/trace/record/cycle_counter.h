#pragma once

#include <cstdint>

// The processor's own counter, and whether it runs at one rate in all power states ("invariant TSC" in the manuals;
// constant_tsc and nonstop_tsc in /proc/cpuinfo). Processors without one say no, and are never asked for its value.
#if defined(__x86_64__)

#include <cpuid.h>
#include <x86intrin.h>

namespace ronde::trace::detail {

inline std::uint64_t read_cycle_counter() {
  return __rdtsc();
}

inline bool cycle_counter_is_steady() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kPowerLeaf = 0x80000007, kInvariantBit = 1u << 8;
  return __get_cpuid(kPowerLeaf, &a, &b, &c, &d) != 0 && (d & kInvariantBit) != 0;
}

}  // namespace ronde::trace::detail

#else

namespace ronde::trace::detail {

inline std::uint64_t read_cycle_counter() {
  return 0;
}
inline bool cycle_counter_is_steady() {
  return false;
}

}  // namespace ronde::trace::detail

#endif
