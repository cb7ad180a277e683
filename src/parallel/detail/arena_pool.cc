#include "ronde/parallel/detail/arena_pool.h"

#include <algorithm>
#include <iterator>

#include "ronde/base/error.h"

namespace ronde::parallel::detail {
namespace {

constexpr std::size_t kLine = 64;

}  // namespace

ArenaPool::ArenaPool(std::unique_ptr<ArenaBacking> backing, ArenaMeter& meter)
    : backing_(std::move(backing)), meter_(meter) {}

ArenaPool::~ArenaPool() {
  for (const auto& [offset, block] : blocks_) {
    if (block.state == State::Used) meter_.disuse(block.bytes);
    if (block.state != State::Bare) meter_.let_go(block.bytes);
  }
}

void* ArenaPool::allocate(std::size_t bytes) {
  if (bytes > backing_->size()) return nullptr;  // before anything is rounded up
  bytes = std::max((bytes + kLine - 1) / kLine * kLine, kLine);
  const Lock lock(mutex_);
  if (retired_) return nullptr;
  void* block = take(bytes, State::Kept);
  if (block) {
    meter_.count_hit();
    return block;
  }
  block = ends_kept() ? grow(bytes) : nullptr;
  if (!block) block = take(bytes, State::Bare);
  if (!block) block = grow(bytes);
  if (block) meter_.count_miss();
  return block;
}

bool ArenaPool::ends_kept() const {
  return !blocks_.empty() && blocks_.rbegin()->second.state == State::Kept;
}

// The smallest of its state that is large enough; what is too much of it stays.
void* ArenaPool::take(std::size_t bytes, State state) {
  const auto found = sizes(state).lower_bound({bytes, 0});
  if (found == sizes(state).end()) return nullptr;
  if (state == State::Bare && !meter_.hold(bytes)) return nullptr;
  const auto [room, offset] = *found;
  remove_free(blocks_.find(offset));
  if (room > bytes) {
    blocks_.emplace(offset + bytes, Block{room - bytes, state});
    sizes(state).emplace(room - bytes, offset + bytes);
  }
  return hand_out(offset, bytes);
}

// New memory behind the last block, and that block too when it is kept but too small.
void* ArenaPool::grow(std::size_t bytes) {
  const std::size_t kept = ends_kept() ? std::min(bytes, blocks_.rbegin()->second.bytes) : 0;
  const std::size_t offset = end_ - kept, more = bytes - kept;
  if (more > backing_->size() - end_ || !meter_.hold(more)) return nullptr;
  if (!backing_->commit(end_ + more)) {
    meter_.let_go(more);
    return nullptr;
  }
  if (kept > 0) remove_free(std::prev(blocks_.end()));
  end_ += more;
  return hand_out(offset, bytes);
}

void* ArenaPool::hand_out(std::size_t offset, std::size_t bytes) {
  blocks_.emplace(offset, Block{bytes, State::Used});
  meter_.use(bytes);
  ++used_;
  return backing_->data() + offset;
}

void ArenaPool::free(void* block) {
  const Lock lock(mutex_);
  const auto found = blocks_.find(static_cast<std::size_t>(static_cast<std::byte*>(block) - backing_->data()));
  if (found == blocks_.end() || found->second.state != State::Used)
    throw Error(Error::Kind::Bug, "an arena got back memory that it did not allocate");
  const auto [offset, old] = *found;
  meter_.disuse(old.bytes);
  --used_;
  found->second.state = State::Kept;
  if (retired_) return;
  blocks_.erase(found);
  insert_free(offset, {old.bytes, State::Kept});
}

// Joins it with the neighbours that are free in the same way.
void ArenaPool::insert_free(std::size_t offset, Block block) {
  auto next = blocks_.lower_bound(offset);
  if (next != blocks_.end() && next->second.state == block.state) {
    block.bytes += next->second.bytes;
    next = remove_free(next);
  }
  if (next != blocks_.begin()) {
    const auto before = std::prev(next);
    if (before->second.state == block.state) {
      offset = before->first;
      block.bytes += before->second.bytes;
      remove_free(before);
    }
  }
  blocks_.emplace(offset, block);
  sizes(block.state).emplace(block.bytes, offset);
}

ArenaPool::Blocks::iterator ArenaPool::remove_free(Blocks::iterator block) {
  sizes(block->second.state).erase({block->second.bytes, block->first});
  return blocks_.erase(block);
}

std::size_t ArenaPool::trim() {
  const Lock lock(mutex_);
  if (retired_) return 0;
  std::size_t bytes = 0;
  const BySize kept = std::exchange(kept_, {});
  for (const auto& [size, offset] : kept) {
    backing_->discard(offset, size);
    bytes += size;
    blocks_.erase(offset);
    insert_free(offset, {size, State::Bare});
  }
  // What is bare at the end is as good as never used.
  if (!blocks_.empty() && blocks_.rbegin()->second.state == State::Bare) {
    end_ = blocks_.rbegin()->first;
    remove_free(std::prev(blocks_.end()));
  }
  meter_.let_go(bytes);
  return bytes;
}

void ArenaPool::retire() {
  const Lock lock(mutex_);
  retired_ = true;
}

std::size_t ArenaPool::blocks() const {
  const Lock lock(mutex_);
  return used_;
}

}  // namespace ronde::parallel::detail
