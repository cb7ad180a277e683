#pragma once

#include <cstddef>
#include <cstdint>

namespace ronde {
class Settings;
}

// Memory of CPU tensors that is kept for the next step. Torch's default takes every large tensor from the system and
// gives it back, and the system fills each page with zeros when it is touched first; in a training step that may cost
// as much as the arithmetic.
//
//   ronde::install_arena({.limit = 8 << 30});
//
// Process-wide, since torch asks one allocator for all. Tensors may be freed by any thread and at any time; a forked
// child goes on with the C library's memory. All functions may be called from any thread.
namespace ronde::parallel {

struct ArenaOptions {
  std::uint64_t limit = 0;          // memory.limit: most that CPU tensors may use; 0: no limit
  std::size_t smallest = 64 << 10;  // smaller tensors come from the C library, which keeps such by itself
};
ArenaOptions arena_options(const Settings& settings);

// From now on, new tensors of this process come from the arena. Beyond the limit, what is kept unused is given back
// first; then making a tensor fails with an Error that names what was asked for, what is used and the limit. When it is
// on already, the new options hold.
// REQUIRES: the first time, no other thread is making tensors.
// FAILS WITH: BadInput when another library has an allocator that torch prefers; System.
void install_arena(const ArenaOptions& options = {});

// From now on, new tensors come from the C library, without a limit. Those that there are stay as they are.
void uninstall_arena();

// Gives what is kept unused back to the system. Returns how many bytes that was.
std::uint64_t trim_arena();

// All tensors made since the arena (or a GradientMemory) first was; those before it are torch's own.
struct ArenaStatistics {
  std::uint64_t in_use = 0;  // bytes that tensors use
  std::uint64_t cached = 0;  // bytes that are kept for later ones
  std::uint64_t peak = 0;    // most bytes that tensors have used
  std::uint64_t hits = 0;    // large tensors whose memory was kept
  std::uint64_t misses = 0;  // large tensors for which the system was asked
};
ArenaStatistics arena_statistics();

// Writes "memory in use" and "memory cached" into the trace of this thread; once a step is enough.
void trace_arena();

}  // namespace ronde::parallel

namespace ronde {
using parallel::arena_options;
using parallel::arena_statistics;
using parallel::ArenaOptions;
using parallel::install_arena;
}  // namespace ronde
