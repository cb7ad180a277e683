#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "ronde/base/system/mutex.h"
#include "ronde/parallel/detail/arena_backing.h"
#include "ronde/parallel/detail/arena_meter.h"

namespace ronde::parallel::detail {

// Hands out blocks of one range of addresses and keeps what comes back for the next who asks: the smallest kept block
// that is large enough, cut to size; otherwise new memory. Neighbours that are free become one. Blocks start on cache
// lines. Safe to call from any thread.
class ArenaPool {
 public:
  // What it holds is counted by `meter`, which must outlive it.
  ArenaPool(std::unique_ptr<ArenaBacking> backing, ArenaMeter& meter);
  ~ArenaPool();

  // nullptr: the range, the system or the meter's limit has no more; trim() may help.
  void* allocate(std::size_t bytes);
  // REQUIRES: from allocate() of this pool, not freed yet.
  void free(void* block);

  // Gives everything that is kept back to the system. Returns how many bytes that was.
  std::size_t trim();

  // From now on nothing is handed out, and what comes back is left as it is: somebody else may still write there.
  void retire();

  const std::byte* begin() const { return backing_->data(); }
  const std::byte* end() const { return backing_->data() + backing_->size(); }
  std::size_t blocks() const;  // handed out

 private:
  // A block is used, kept (its pages are there) or bare (they are not). The range beyond the last one is bare.
  enum class State { Used, Kept, Bare };
  struct Block {
    std::size_t bytes;
    State state;
  };
  using Blocks = std::map<std::size_t, Block>;                   // by offset; no gaps
  using BySize = std::set<std::pair<std::size_t, std::size_t>>;  // bytes, offset

  void* take(std::size_t bytes, State state) RONDE_REQUIRES(mutex_);
  void* grow(std::size_t bytes) RONDE_REQUIRES(mutex_);
  void* hand_out(std::size_t offset, std::size_t bytes) RONDE_REQUIRES(mutex_);
  bool ends_kept() const RONDE_REQUIRES(mutex_);
  void insert_free(std::size_t offset, Block block) RONDE_REQUIRES(mutex_);
  Blocks::iterator remove_free(Blocks::iterator block) RONDE_REQUIRES(mutex_);
  BySize& sizes(State state) RONDE_REQUIRES(mutex_) { return state == State::Kept ? kept_ : bare_; }

  const std::unique_ptr<ArenaBacking> backing_;
  ArenaMeter& meter_;
  mutable Mutex mutex_;
  Blocks blocks_ RONDE_GUARDED_BY(mutex_);
  BySize kept_ RONDE_GUARDED_BY(mutex_);
  BySize bare_ RONDE_GUARDED_BY(mutex_);
  std::size_t end_ RONDE_GUARDED_BY(mutex_) = 0;  // of the last block
  std::size_t used_ RONDE_GUARDED_BY(mutex_) = 0;
  bool retired_ RONDE_GUARDED_BY(mutex_) = false;
};

}  // namespace ronde::parallel::detail
