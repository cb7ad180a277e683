#include "ronde/parallel/detail/arena_allocator.h"

#include <cerrno>
#include <memory>
#include <mutex>
#include <utility>

#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/alloc_cpu.h>
#include <malloc.h>
#include <pthread.h>
#include <unistd.h>

#include "ronde/base/error.h"
#include "ronde/base/text/units.h"

namespace ronde::parallel::detail {
namespace {

constexpr std::uint8_t kPriority = 10;  // torch's own has 0

constinit thread_local ScopeMemory* current_scope = nullptr;

// Addresses cost nothing; four times the memory leaves room for what cannot be joined.
std::size_t addresses_wanted() {
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  return static_cast<std::size_t>(pages) * static_cast<std::size_t>(page) * 4;
}

}  // namespace

ArenaAllocator& ArenaAllocator::of_process() {
  static auto* const allocator = new ArenaAllocator;
  return *allocator;
}

void ArenaAllocator::hook() {
  static std::once_flag once;
  std::call_once(once, [this] {
    pthread_atfork(nullptr, nullptr, [] { of_process().forked_ = true; });
    c10::SetAllocator(c10::DeviceType::CPU, this, kPriority);
  });
  if (c10::GetAllocator(c10::DeviceType::CPU) != this)
    throw Error::bad_input("another library has set an allocator for CPU tensors that takes precedence over Ronde's");
}

void ArenaAllocator::turn_on(std::size_t smallest, std::uint64_t limit) {
  static std::once_flag once;
  std::call_once(once, [this] {
    auto backing = std::make_unique<PrivateBacking>(addresses_wanted());
    arena_ = &ranges_.add(std::make_unique<ArenaPool>(std::move(backing), meter_));
  });
  meter_.set_limit(limit);
  smallest_ = smallest;
}

std::size_t ArenaAllocator::trim() const {
  return forked() ? 0 : ranges_.trim();  // a child's pages are its parent's, where they are shared
}

void ArenaAllocator::turn_off() {
  meter_.set_limit(0);
  smallest_ = ~std::size_t{0};
  trim();
}

ScopeMemory* ArenaAllocator::enter(ScopeMemory* memory) {
  return std::exchange(current_scope, memory);
}

c10::DataPtr ArenaAllocator::allocate(std::size_t bytes) {
  void* memory = nullptr;
  if (bytes > 0 && forked()) {
    memory = c10::alloc_cpu(bytes);
  } else if (bytes > 0) {
    memory = find_room(bytes);
    if (!memory && trim() > 0) memory = find_room(bytes);
    if (!memory) fail(bytes);
    c10::profiledCPUMemoryReporter().New(memory, bytes);
  }
  return {memory, memory, &free_any, c10::Device(c10::DeviceType::CPU)};
}

void* ArenaAllocator::find_room(std::size_t bytes) {
  if (ScopeMemory* const scope = current_scope; scope && scope->takes(bytes))
    if (void* const memory = from_scope(*scope, bytes)) return memory;
  return bytes >= smallest_.load(std::memory_order_relaxed) ? arena_.load()->allocate(bytes) : from_library(bytes);
}

// What is kept in pieces that are too small is given back, but once only: it would be paid for at every step.
void* ArenaAllocator::from_scope(ScopeMemory& scope, std::size_t bytes) {
  if (void* const memory = scope.range.allocate(bytes)) return memory;
  if (!meter_.allows(bytes) || scope.used_up.exchange(true)) return nullptr;
  scope.range.trim();
  if (void* const memory = scope.range.allocate(bytes)) return memory;
  scope.log.warn("shared memory of this node has no {} left: further gradients use private memory and are copied",
                 format_bytes(bytes));
  return nullptr;
}

void* ArenaAllocator::from_library(std::size_t bytes) {
  void* const memory = c10::alloc_cpu(bytes);
  const std::size_t usable = malloc_usable_size(memory);  // all that free() will know
  if (meter_.hold(usable)) {
    meter_.use(usable);
    return memory;
  }
  c10::free_cpu(memory);
  return nullptr;
}

void ArenaAllocator::free_any(void* memory) {
  if (memory) of_process().free(memory);
}

void ArenaAllocator::free(void* memory) {
  ArenaRanges::Range* const range = ranges_.find(memory);
  if (forked()) {
    if (!range) c10::free_cpu(memory);
    return;
  }
  c10::profiledCPUMemoryReporter().Delete(memory);
  if (range) return range->free(memory);
  const std::size_t usable = malloc_usable_size(memory);
  meter_.disuse(usable);
  meter_.let_go(usable);
  c10::free_cpu(memory);
}

void ArenaAllocator::fail(std::size_t bytes) const {
  c10::profiledCPUMemoryReporter().OutOfMemory(bytes);
  if (meter_.limit() == 0)
    throw Error::system(ENOMEM, "out of memory: cannot allocate a tensor of {}; tensors already use {}",
                        format_bytes(bytes), format_bytes(meter_.in_use()));
  throw Error(
      Error::Kind::System,
      fmt::format("out of memory: cannot allocate a tensor of {}; tensors already use {}, and memory.limit is {}",
                  format_bytes(bytes), format_bytes(meter_.in_use()), format_bytes(meter_.limit())));
}

}  // namespace ronde::parallel::detail
