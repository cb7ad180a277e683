#include "ronde/parallel/gradient_scope.h"

#include <algorithm>

#include "ronde/base/error.h"
#include "ronde/parallel/detail/arena_allocator.h"

namespace ronde::parallel {
namespace {

using detail::ArenaAllocator;

constexpr std::size_t kMost = std::size_t{1} << 40;
constexpr std::size_t kLeast = std::size_t{1} << 20;

// Nobody says how much is left, and others want some of it too: half of the largest power of two that there is.
std::size_t fair_share(comm::Engine& engine) {
  for (std::size_t bytes = kMost;; bytes /= 2) {
    try {
      (void)engine.allocate(bytes);
      return bytes / 2;
    } catch (const Error&) {
      if (bytes <= kLeast) throw;
    }
  }
}

detail::ArenaRanges::Range& make_range(comm::Engine& engine, std::size_t bytes) {
  ArenaAllocator& allocator = ArenaAllocator::of_process();
  allocator.hook();
  auto backing = std::make_unique<detail::SharedBacking>(engine.allocate(bytes ? bytes : fair_share(engine)));
  return allocator.ranges().add(std::make_unique<detail::ArenaPool>(std::move(backing), allocator.meter()));
}

std::vector<std::size_t> in_order(std::vector<std::size_t> sizes) {
  std::ranges::sort(sizes);
  return sizes;
}

}  // namespace

GradientMemory::GradientMemory(comm::Engine& engine, const GradientMemoryOptions& options)
    : memory_(new detail::ScopeMemory{make_range(engine, options.bytes), options.smallest, in_order(options.sizes),
                                      options.log}) {}

GradientMemory::~GradientMemory() {
  // Not in a forked child: it would take the pages from its parent.
  if (!ArenaAllocator::of_process().forked()) memory_->range.release();
}

void GradientMemory::retire() {
  memory_->used_up = true;  // no warning: whoever retires it has said why
  memory_->range.retire();
}

GradientScope::GradientScope(GradientMemory* memory)
    : before_(ArenaAllocator::enter(memory ? memory->memory_.get() : nullptr)) {}

GradientScope::~GradientScope() {
  ArenaAllocator::enter(before_);
}

}  // namespace ronde::parallel
