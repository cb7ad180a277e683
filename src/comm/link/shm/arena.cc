#include "ronde/comm/link/shm/arena.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "ronde/base/error.h"
#include "ronde/base/text/units.h"

namespace ronde::comm::detail {
namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kPage = 4096;

std::size_t round_up(std::size_t number, std::size_t unit) {
  return (number + unit - 1) / unit * unit;
}

}  // namespace

Arena::Arena(const Mapping& memory, std::size_t reserved) : memory_(memory) {
  const std::size_t start = round_up(reserved, kPage);
  free_.emplace(start, memory.size() - start);
}

Error Arena::no_room(std::size_t bytes) const {
  return Error::system(ENOMEM, "cannot allocate {} in the {} of memory shared on this node (comm.arena_bytes)",
                       format_bytes(bytes), format_bytes(memory_.size()));
}

std::byte* Arena::allocate(std::size_t bytes) {
  if (bytes > memory_.size()) throw no_room(bytes);  // before anything is rounded up
  const std::size_t unit = bytes >= kPage ? kPage : kLine;
  const std::size_t size = round_up(std::max<std::size_t>(bytes, 1), unit);
  const Lock lock(mutex_);
  for (auto [offset, room] : free_) {
    const std::size_t start = round_up(offset, unit), lost = start - offset;
    if (room < lost + size) continue;
    free_.erase(offset);
    if (lost) free_.emplace(offset, lost);
    if (room > lost + size) free_.emplace(start + size, room - lost - size);
    used_.emplace(start, size);
    return memory_.data() + start;
  }
  throw no_room(bytes);
}

std::byte* Arena::allocate_zeroed(std::size_t bytes) {
  std::byte* piece = allocate(bytes);
  const auto offset = static_cast<std::size_t>(piece - memory_.data());
  if (bytes < kPage || !memory_.discard(offset, round_up(bytes, kPage))) std::memset(piece, 0, bytes);
  return piece;
}

void Arena::free(std::byte* piece) {
  const Lock lock(mutex_);
  const auto used = used_.find(static_cast<std::size_t>(piece - memory_.data()));
  if (used == used_.end()) throw Error(Error::Kind::Bug, "memory was returned to an arena that it does not belong to");
  auto [offset, size] = *used;
  used_.erase(used);
  if (retired_) return;
  if (size >= kPage) (void)memory_.discard(offset, size);  // a refusal only costs memory
  const auto after = free_.lower_bound(offset);
  if (after != free_.end() && after->first == offset + size) {
    size += after->second;
    free_.erase(after);
  }
  const auto behind = free_.lower_bound(offset);
  if (behind != free_.begin() && std::prev(behind)->first + std::prev(behind)->second == offset) {
    std::prev(behind)->second += size;
  } else {
    free_.emplace(offset, size);
  }
}

void Arena::retire() {
  const Lock lock(mutex_);
  retired_ = true;
}

std::optional<std::size_t> Arena::offset_of(const void* data, std::size_t bytes) const {
  const auto* start = static_cast<const std::byte*>(data);
  if (start < memory_.data() || start + bytes > memory_.data() + memory_.size()) return {};
  return static_cast<std::size_t>(start - memory_.data());
}

}  // namespace ronde::comm::detail
