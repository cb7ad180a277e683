#include "ronde/topology/core_clock.h"

#include <algorithm>
#include <cstdint>

namespace ronde::topology {
namespace {

using Clock = std::chrono::steady_clock;

// On every processor of the last decades a sum of two registers is there after one cycle. A constant would not do: some
// processors add those while they rename registers, at no cost. The empty assembly keeps the compiler from adding in
// one go what is to be added one after the other.
constexpr int kSums = 16;
inline std::uint64_t add_in_turn(std::uint64_t sum, std::uint64_t step) {
#pragma GCC unroll 16
  for (int i = 0; i < kSums; ++i) {
    sum += step;
    asm volatile("" : "+r"(sum) : "r"(step));
  }
  return sum;
}

// So short that most of them are not interrupted, so long that reading the clock does not count.
constexpr int kRounds = 4096;

}  // namespace

// The fastest piece counts: others had to share the core, or were interrupted.
double core_clock_ghz(std::chrono::nanoseconds time) {
  const auto until = Clock::now() + time;
  double fastest = 0;
  std::uint64_t sum = 0, step = 1;
  asm volatile("" : "+r"(step));
  Clock::time_point end;
  do {
    const auto begin = Clock::now();
    for (int round = 0; round < kRounds; ++round) sum = add_in_turn(sum, step);
    end = Clock::now();
    const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(end - begin).count();
    fastest = std::max(fastest, static_cast<double>(kRounds) * kSums / static_cast<double>(std::max<long>(ns, 1)));
  } while (end < until);
  return fastest;
}

}  // namespace ronde::topology
