#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

#include "ronde/parallel/detail/arena_pool.h"

namespace ronde::parallel::detail {

// The pools of a process, found by the address of what they have handed out. Finding takes no lock: it is done for
// every tensor that dies, and in a forked child, where a lock may be held by a thread that is not there.
//
// A pool lives as long as its owner or one of its blocks does. Its entry stays, empty, for good: a few bytes.
class ArenaRanges {
 public:
  class Range {
   public:
    explicit Range(std::unique_ptr<ArenaPool> pool) : begin_(pool->begin()), end_(pool->end()), pool_(pool.release()) {}

    void* allocate(std::size_t bytes);  // as ArenaPool
    void free(void* block);
    std::size_t trim();  // also when the owner is just going
    void retire() { pool_.load()->retire(); }
    void release();  // by the owner, as the last it does with it

   private:
    friend class ArenaRanges;
    bool contains(const void* address) const { return address >= begin_ && address < end_ && pool_.load(); }

    const std::byte* const begin_;
    const std::byte* const end_;
    std::atomic<ArenaPool*> pool_;             // none: it has gone, and its addresses may be anybody's
    std::atomic<std::size_t> references_ = 1;  // the owner, and every block that is handed out
    Range* next_ = nullptr;
  };

  ArenaRanges() = default;
  ~ArenaRanges();
  ArenaRanges(const ArenaRanges&) = delete;
  ArenaRanges& operator=(const ArenaRanges&) = delete;

  // The caller is the owner.
  Range& add(std::unique_ptr<ArenaPool> pool);
  // The one that an address belongs to, if any.
  Range* find(const void* address) const;
  std::size_t trim() const;  // all of them

 private:
  std::atomic<Range*> first_ = nullptr;
};

}  // namespace ronde::parallel::detail
