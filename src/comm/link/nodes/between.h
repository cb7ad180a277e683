#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "ronde/comm/link/post.h"
#include "ronde/comm/link/shm/shm_allreduce.h"

// Allreduce between nodes, of what the ranks of each have already summed. One rank a node takes part.
namespace ronde::comm::detail {

enum class Between {
  Gather,    // everyone sends all it has to everyone: one hop
  Doubling,  // with a partner at distance 1, 2, 4, ...: log2(nodes) hops
  Direct,    // everyone sums one piece for all, then hands it out: two hops, as few bytes as can be
  Ring,      // the same, but from neighbour to neighbour
};
// Values of 16 bits are rounded once by all of these, at the end. Doubling and Ring hand on sums, which would be
// rounded on every hop: up to kFewNodes nodes Direct takes their place, on more the sums travel as f32.
inline constexpr int kFewNodes = 16;
inline constexpr std::array kAllBetween{Between::Gather, Between::Doubling, Between::Direct, Between::Ring};
std::string_view name(Between algorithm);
std::optional<Between> between_by_name(std::string_view name);
// From 1 on as in kAllBetween; 0 leaves the choice to choose_between(). Told by another rank.
// FAILS WITH: System when there is no such one.
std::optional<Between> between_by_number(std::size_t number);

// Which one, when nobody knows better. `in_order`: only those that sum in the order of nodes. Pure.
Between choose_between(std::size_t bytes, int nodes, bool in_order);

// A reduction over nodes in two steps: of the members of each node, and of what comes of these. The largest node has
// `most` members. What a node makes of 16-bit values is rounded to 16 bits before it travels, so where the result is
// scaled down, the node does a part of that before it rounds: as much as keeps an average in range, and by a power of
// two, so that the rounding stays the same. Pure.
struct TwoSteps {
  Reduction in_node, between;
};
TwoSteps two_steps(const Reduction& reduction, std::size_t most);

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
