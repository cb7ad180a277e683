#pragma once

#include <cstddef>
#include <map>
#include <optional>

#include "ronde/base/error.h"
#include "ronde/base/system/mutex.h"
#include "ronde/comm/link/shm/mapping.h"

namespace ronde::comm::detail {

// Hands out pieces of memory that all ranks of a node map, by first fit. Every piece starts on its own cache lines;
// pieces of a page or more start on a page. Safe to call from any thread.
class Arena {
 public:
  // Leaves the first `reserved` bytes alone. `memory` must outlive the arena.
  Arena(const Mapping& memory, std::size_t reserved);

  // FAILS WITH: System when no free piece is large enough.
  std::byte* allocate(std::size_t bytes);
  // The same, filled with zeros: memory that was used before, by others, may have anything in it.
  std::byte* allocate_zeroed(std::size_t bytes);
  // Gives large pieces back to the operating system. REQUIRES: from allocate() of this arena, not freed yet.
  void free(std::byte* piece);

  // From now on nothing that is given back is used again: peers may still write there, after a collective has failed.
  void retire();

  // Where in the arena a range lies; nothing when it does not lie there entirely.
  std::optional<std::size_t> offset_of(const void* data, std::size_t bytes) const;

 private:
  Error no_room(std::size_t bytes) const;

  const Mapping& memory_;
  mutable Mutex mutex_;
  bool retired_ RONDE_GUARDED_BY(mutex_) = false;
  std::map<std::size_t, std::size_t> free_ RONDE_GUARDED_BY(mutex_);  // offset -> bytes; neighbours are merged
  std::map<std::size_t, std::size_t> used_ RONDE_GUARDED_BY(mutex_);  // offset -> bytes
};

}  // namespace ronde::comm::detail
