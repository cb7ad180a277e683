#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "ronde/comm/link/segments.h"
#include "ronde/comm/link/transport.h"
#include "ronde/comm/math/reduction.h"

// Allreduce between nodes, of what the ranks of each have already summed. One rank a node takes part.
namespace ronde::comm::detail {

enum class InterNodeAlgorithm {
  Gather,    // everyone sends all it has to everyone: one hop
  Doubling,  // with a partner at distance 1, 2, 4, ...: log2(nodes) hops
  Direct,    // everyone sums one piece for all, then hands it out: two hops, as few bytes as can be
  Ring,      // the same, but from neighbour to neighbour
  Halving,   // as few bytes, in 2 log2(nodes) hops: sums halves of what is left with a partner, then hands them out
};
// Values of 16 bits are rounded once by all of these, at the end. Doubling, Ring and Halving hand on sums, which would
// be rounded on every hop: up to kFewNodes nodes Direct takes their place, on more the sums travel as f32.
inline constexpr int kFewNodes = 16;
inline constexpr std::array kAllInterNode{InterNodeAlgorithm::Gather, InterNodeAlgorithm::Doubling,
                                          InterNodeAlgorithm::Direct, InterNodeAlgorithm::Ring,
                                          InterNodeAlgorithm::Halving};
std::string_view name(InterNodeAlgorithm algorithm);
std::optional<InterNodeAlgorithm> inter_node_by_name(std::string_view name);
// From 1 on as in kAllInterNode; 0 leaves the choice to choose_inter_node(). Sent by another rank.
// FAILS WITH: System for any other number.
std::optional<InterNodeAlgorithm> inter_node_by_number(std::size_t number);

// Which one, when nobody knows better. `in_order`: only those that sum in the order of nodes. Pure.
InterNodeAlgorithm choose_inter_node(std::size_t bytes, int nodes, bool in_order);

// Into how large chunks an allreduce is cut that `slices` members of each node carry: at least `least` bytes, and on
// many nodes so many that what one of them sends to another at a time is worth a message. Pure.
std::size_t chunk_bytes_for(std::size_t least, int nodes, std::size_t slices);

// A reduction over nodes in two steps: of the members of each node, and of what comes of these. The largest node has
// `most` members. What a node makes of 16-bit values is rounded to 16 bits before it travels, so where the result is
// scaled down, the node does a part of that before it rounds: as much as keeps an average in range, and by a power of
// two, so that the rounding stays the same. Pure.
struct TwoSteps {
  math::Reduction in_node, inter_node;
};
TwoSteps two_steps(const math::Reduction& reduction, std::size_t most);

// The ranks that take part, and where their messages meet: `tag` and the lane after it are used.
struct NodeGroup {
  Transport& transport;
  std::vector<int> ranks;  // of the job, by node
  int me = 0;              // which of them
  Tag tag = {};
};

// Replaces `data` by the reduction over all nodes, scaled. The same bits on every node. The group must stay.
Task allreduce_inter_node(const NodeGroup& group, InterNodeAlgorithm algorithm, SharedBuffer data,
                          math::Reduction reduction);

}  // namespace ronde::comm::detail
