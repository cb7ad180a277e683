#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "ronde/comm/link/post.h"
#include "ronde/comm/link/shm_allreduce.h"

// Allreduce between nodes, of what the ranks of each have already summed. One rank a node takes part.
namespace ronde::comm::detail {

enum class Between {
  Gather,    // everyone sends all it has to everyone: one hop
  Doubling,  // with a partner at distance 1, 2, 4, ...: log2(nodes) hops
  Direct,    // everyone sums one piece for all, then hands it out: two hops, as few bytes as can be
  Ring,      // the same, but from neighbour to neighbour
};
inline constexpr std::array kAllBetween{Between::Gather, Between::Doubling, Between::Direct, Between::Ring};
std::string_view name(Between algorithm);
std::optional<Between> between_by_name(std::string_view name);

// Which one, when nobody knows better. `in_order`: only those that sum in the order of nodes. Pure.
Between choose_between(std::size_t bytes, int nodes, bool in_order);

// The ranks that take part, and where their messages meet: `tag` and the lane after it are used.
struct Circle {
  Post& post;
  std::vector<int> ranks;  // of the job, by node
  int me = 0;              // which of them
  Tag tag = {};
};

// Replaces `data` by the reduction over all nodes, scaled. The same bits on every node. The circle must stay.
Task allreduce_between(const Circle& circle, Between algorithm, Cargo data, Reduction reduction);

}  // namespace ronde::comm::detail
