#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <vector>

#include <c10/core/Allocator.h>

#include "ronde/base/log.h"
#include "ronde/parallel/detail/arena_meter.h"
#include "ronde/parallel/detail/arena_ranges.h"

namespace ronde::parallel::detail {

// Memory that a scope takes tensors from.
struct ScopeMemory {
  ArenaRanges::Range& range;
  const std::size_t smallest;            // smaller tensors come from elsewhere,
  const std::vector<std::size_t> sizes;  // and those of none of these sizes; ascending; empty: any
  const Log log;
  std::atomic<bool> used_up = false;

  bool takes(std::size_t bytes) const {
    return bytes >= smallest && (sizes.empty() || std::ranges::binary_search(sizes, bytes));
  }
};

// What torch asks for the memory of CPU tensors. Torch keeps a pointer to its allocator for as long as there are
// tensors, so this one is made once and stays to the end of the process: with ronde's session in Python, the one thing
// here that is global.
//
// Where memory comes from: the scope of this thread, if there is one and the tensor is large enough; the arena, if it
// is on and the tensor is large enough; otherwise the C library. It goes back to where it came from, by its address. In
// a forked child all new memory is the C library's, and what the parent has handed out is left alone.
class ArenaAllocator final : public c10::Allocator {
 public:
  static ArenaAllocator& of_process();

  // From now on torch asks here. The second time it does nothing.
  // FAILS WITH: BadInput when another library has an allocator that torch prefers.
  void hook();
  void turn_on(std::size_t smallest, std::uint64_t limit);  // hook() comes first
  void turn_off();

  // The scope of this thread; nullptr: none. Returns the one before.
  static ScopeMemory* enter(ScopeMemory* memory);

  std::size_t trim() const;
  bool forked() const { return forked_.load(std::memory_order_relaxed); }  // this process is a child of whoever began
  ArenaMeter& meter() { return meter_; }
  ArenaRanges& ranges() { return ranges_; }

  c10::DataPtr allocate(std::size_t bytes) override;
  c10::DeleterFnPtr raw_deleter() const override { return &free_any; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override { default_copy_data(to, from, bytes); }

 private:
  ArenaAllocator() = default;

  static void free_any(void* memory);
  void free(void* memory);
  void* find_room(std::size_t bytes);
  void* from_scope(ScopeMemory& scope, std::size_t bytes);
  void* from_library(std::size_t bytes);
  [[noreturn]] void fail(std::size_t bytes) const;

  ArenaMeter meter_;
  ArenaRanges ranges_;
  std::atomic<ArenaRanges::Range*> arena_ = nullptr;  // made when first turned on
  std::atomic<std::size_t> smallest_ = ~std::size_t{0};
  std::atomic<bool> forked_ = false;
};

}  // namespace ronde::parallel::detail
