#include "ronde/comm/link/nodes/node.h"

#include "ronde/comm/link/shm/futex.h"

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

void Node::wake(std::span<const int> peers, State deepest) const {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  for (const int peer : peers) {
    Header& theirs = header(peer);
    const std::uint32_t state = theirs.asleep.load(std::memory_order_relaxed);
    if (state == kAwake || state > deepest) continue;
    theirs.bell.fetch_add(1, std::memory_order_release);
    futex_wake_all(theirs.bell);
  }
}

void Node::sleep_since(std::uint32_t rung, Deadline until) const {
  futex_wait(header(rank_).bell, rung, until);
}

void Node::wake_self() const {
  header(rank_).bell.fetch_add(1, std::memory_order_release);
  futex_wake_all(header(rank_).bell);
}

}  // namespace ronde::comm::detail
