#include "ronde/comm/link/shm/node.h"

#include "ronde/comm/support/futex.h"

namespace ronde::comm::detail {

Node::Node(int rank, Arenas arenas)
    : rank_(rank), arenas_(std::move(arenas)), arena_(*arenas_[static_cast<std::size_t>(rank)], sizeof(Header)) {}

std::vector<std::unique_ptr<Node>> Node::for_threads(int ranks, std::size_t arena_bytes) {
  Arenas arenas;
  for (int r = 0; r < ranks; ++r)
    arenas.push_back(std::make_shared<Mapping>(Mapping::of_file(Mapping::make_file(arena_bytes).get(), arena_bytes)));
  std::vector<std::unique_ptr<Node>> nodes;
  for (int r = 0; r < ranks; ++r) nodes.push_back(std::make_unique<Node>(r, arenas));
  return nodes;
}

void Node::wake(std::span<const int> peers, std::atomic<std::uint32_t> Header::*word) const {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  for (const int peer : peers) {
    Header& theirs = header(peer);
    const std::uint32_t who = (theirs.*word).load(std::memory_order_relaxed);
    if (who == 0) continue;
    std::atomic<std::uint32_t>& word_of_bell = bell(theirs, static_cast<Sleeper>(who));
    word_of_bell.fetch_add(1, std::memory_order_release);
    support::futex_wake_all(word_of_bell);
  }
}

void Node::sleep_since(std::uint32_t rung, Deadline until, Sleeper who) const {
  support::futex_wait(bell(header(rank_), who), rung, until);
}

void Node::wake_self(Sleeper who) const {
  std::atomic<std::uint32_t>& mine = bell(header(rank_), who);
  mine.fetch_add(1, std::memory_order_release);
  support::futex_wake_all(mine);
}

void Node::wake_self() const {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  const std::uint32_t who = header(rank_).for_summons.load(std::memory_order_relaxed);
  wake_self(who == 0 ? Sleeper::Engine : static_cast<Sleeper>(who));
}

}  // namespace ronde::comm::detail
