#include "ronde/parallel/arena.h"

#include "ronde/base/settings/settings.h"
#include "ronde/parallel/detail/arena_allocator.h"
#include "ronde/trace/span.h"
#include "ronde/trace/span_names.h"

namespace ronde::parallel {

using detail::ArenaAllocator;

ArenaOptions arena_options(const Settings& settings) {
  return {.limit = settings.get<"memory.limit">()};
}

void install_arena(const ArenaOptions& options) {
  ArenaAllocator& allocator = ArenaAllocator::of_process();
  allocator.hook();
  allocator.turn_on(options.smallest, options.limit);
}

void uninstall_arena() {
  ArenaAllocator::of_process().turn_off();
}

std::uint64_t trim_arena() {
  return ArenaAllocator::of_process().trim();
}

ArenaStatistics arena_statistics() {
  const detail::ArenaMeter& meter = ArenaAllocator::of_process().meter();
  return {.in_use = meter.in_use(),
          .cached = meter.cached(),
          .peak = meter.peak(),
          .hits = meter.hits(),
          .misses = meter.misses()};
}

void trace_arena() {
  const ArenaStatistics now = arena_statistics();
  trace::counter(trace::counter_names::kMemory, now.in_use);
  trace::counter("memory cached", now.cached);
}

}  // namespace ronde::parallel
