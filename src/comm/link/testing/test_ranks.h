#pragma once

#include <algorithm>
#include <exception>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

#include "ronde/comm/link/shm/channel.h"
#include "ronde/comm/link/spin_policy.h"

// For tests: ranks as threads of one process.
namespace ronde::comm::detail {

// Carries one task to its end, the way an engine does.
inline void drive(Node& node, Task task, const SpinPolicy& spin_policy) {
  while (!task.advance()) {
    if (spin_policy.wait([&] { return task.can_advance(); })) continue;
    node.sleep([&] { return task.can_advance(); });
  }
}

// A rank with a channel to all others.
struct TestRank {
  Node& node;
  Channel& channel;
  SpinPolicy spin_policy;
  void run(Task task) const { drive(node, std::move(task), spin_policy); }
};

// Calls body(TestRank&) on `ranks` threads; what one throws, this throws when all have ended.
template <class Body>
void run_ranks(int ranks, Body body, std::size_t arena_bytes = 64 << 20) {
  auto nodes = Node::for_threads(ranks, arena_bytes);
  std::vector<std::size_t> areas;
  for (auto& node : nodes) areas.push_back(Channel::make_area(*node));
  std::vector<int> members(static_cast<std::size_t>(ranks));
  std::iota(members.begin(), members.end(), 0);
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  std::vector<std::exception_ptr> failures(nodes.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t r = 0; r < nodes.size(); ++r)
      threads.emplace_back([&, r] {
        try {
          Channel channel(*nodes[r], members, areas);
          TestRank rank{*nodes[r], channel, SpinPolicy::for_ranks(ranks, cores)};
          body(rank);
        } catch (...) {
          failures[r] = std::current_exception();
        }
      });
  }
  for (const auto& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

}  // namespace ronde::comm::detail
