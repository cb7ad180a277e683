// Allreduce over several nodes. What is large is cut into chunks, and while one is between nodes, others are summed
// and handed out inside them: the network never waits for a node.
#include <algorithm>
#include <cstring>
#include <deque>
#include <vector>

#include "ronde/comm/link/nodes/nodes_lanes.h"
#include "ronde/comm/link/nodes/nodes_link.h"
#include "ronde/comm/link/task_group.h"

namespace ronde::comm::detail {
namespace {

void gather(const Segments& data, std::size_t begin, std::size_t end, std::byte* to) {
  data.for_range(begin, end, [to](Bytes piece, std::size_t at) { std::memcpy(to + at, piece.data(), piece.size()); });
}

void scatter(const Segments& data, std::size_t begin, std::size_t end, const std::byte* from) {
  data.for_range(begin, end,
                 [from](Bytes piece, std::size_t at) { std::memcpy(piece.data(), from + at, piece.size()); });
}

// One chunk on its way. Members of a node share it: each carries one slice between nodes.
struct Chunk {
  explicit Chunk(NodeGroup of) : group(std::move(of)) {}

  NodeGroup group;
  std::size_t begin = 0, end = 0;
  SharedBuffer whole;         // where the data is not in one piece
  Bytes bytes;                // the chunk, wherever it is
  std::vector<Bytes> slices;  // by place
  SharedBuffer mine;
  std::shared_ptr<const bool> done;  // between nodes
};

}  // namespace

std::vector<std::string> NodesLink::algorithms() const {
  std::vector<std::string> names = {"auto"};
  for (const InterNodeAlgorithm one : kAllInterNode) names.emplace_back(name(one));
  return names;
}

void NodesLink::use_algorithm(std::size_t index) {
  tuning_.algorithm = inter_node_by_number(index);
}

InterNodeAlgorithm NodesLink::algorithm_for(std::size_t bytes) const {
  return tuning_.algorithm.value_or(choose_inter_node(bytes, nodes(), tuning_.in_order));
}

Task NodesLink::allreduce(Segments data, math::Reduction reduction) {
  if (data.size() <= tuning_.small_bytes) return allreduce_small(std::move(data), reduction);
  return allreduce_large(std::move(data), reduction);
}

// Over the mesh, as votes are: what comes there wakes whom it is for, while MPI has to be looked at. By name, 4 bytes
// between two hosts of two ranks took 236 us with MPI and 72 us so (1 Gbit/s, four ranks on two cores).
Task NodesLink::allreduce_small(Segments data, math::Reduction reduction) {
  const SharedBuffer all(data.size());
  gather(data, 0, data.size(), all.data());
  const TwoSteps steps = two_steps(reduction, layout_->widest());
  co_await local_->reduce(all.bytes(), leads() ? all.bytes() : Bytes(), 0, steps.in_node);
  if (leads()) {
    NodeGroup group{.transport = mesh_, .ranks = {}, .me = node_, .tag = tag(0)};
    for (int other = 0; other < nodes(); ++other) group.ranks.push_back(leader(other));
    co_await allreduce_inter_node(group, algorithm_for(all.size()), all, steps.inter_node);
  }
  co_await local_->broadcast(all.bytes(), 0);
  scatter(data, 0, data.size(), all.data());
}

namespace {

// The slices of a chunk that members of one node carry: as many as the narrowest node has members.
std::vector<Bytes> cut(Bytes bytes, std::size_t members, std::size_t slices, std::size_t element) {
  std::vector<Bytes> parts(members);
  const std::size_t elements = bytes.size() / element;
  for (std::size_t i = 0; i < slices; ++i) {
    const std::size_t begin = elements * i / slices * element, end = elements * (i + 1) / slices * element;
    parts[i] = bytes.subspan(begin, end - begin);
  }
  return parts;
}

}  // namespace

// One after the other, the same on every member of the node: sum chunk c, then hand out chunk c - depth.
Task NodesLink::allreduce_large(Segments data, math::Reduction reduction) {
  const std::size_t element = size_of(reduction.dtype), slices = layout_->narrowest();
  const TwoSteps steps = two_steps(reduction, layout_->widest());
  const std::size_t wanted = chunk_bytes_for(tuning_.chunk_bytes, nodes(), slices);
  const std::size_t chunk_bytes = std::max(wanted / element, std::size_t{1}) * element;
  const std::size_t chunks = (data.size() + chunk_bytes - 1) / chunk_bytes;
  const auto depth = static_cast<std::size_t>(std::clamp(tuning_.depth, 1, static_cast<int>(kChunkLanes / 2)));
  std::vector<int> counterparts;
  for (int other = 0; other < nodes(); ++other) counterparts.push_back(rank_of(layout_->stand_in(other, place_)));
  const bool carries = static_cast<std::size_t>(place_) < slices;

  TaskGroup tasks;
  std::deque<Chunk> under_way;
  const auto begin_chunk = [&](std::size_t number) -> Chunk& {
    const std::size_t begin = number * chunk_bytes, end = std::min(data.size(), begin + chunk_bytes);
    const auto lane = static_cast<std::uint32_t>(number % (kChunkLanes / 2) * 2);
    Chunk& chunk = under_way.emplace_back(
        NodeGroup{.transport = data_, .ranks = counterparts, .me = node_, .tag = data_tag(lane)});
    chunk.begin = begin;
    chunk.end = end;
    if (std::byte* const memory = data.contiguous()) {
      chunk.bytes = {memory + begin, end - begin};
    } else {
      chunk.whole = SharedBuffer(end - begin);
      gather(data, begin, end, chunk.whole.data());
      chunk.bytes = chunk.whole.bytes();
    }
    chunk.slices = cut(chunk.bytes, here().size(), slices, element);
    chunk.mine = SharedBuffer(chunk.slices[static_cast<std::size_t>(place_)].size());
    return chunk;
  };
  const auto inside = [&]() -> Task {
    for (std::size_t number = 0; number < chunks + depth; ++number) {
      if (number < chunks) {
        Chunk& chunk = begin_chunk(number);
        co_await local_->reduce_scatter({chunk.slices.begin(), chunk.slices.end()}, chunk.mine.bytes(), steps.in_node);
        const InterNodeAlgorithm how = algorithm_for(chunk.mine.size());
        if (carries) chunk.done = tasks.add(allreduce_inter_node(chunk.group, how, chunk.mine, steps.inter_node));
      }
      if (number < depth) continue;
      Chunk& chunk = under_way.front();
      if (chunk.done) co_await until([&chunk] { return *chunk.done; });
      co_await local_->allgather(chunk.mine.bytes(), chunk.slices);
      if (chunk.whole.size() > 0) scatter(data, chunk.begin, chunk.end, chunk.whole.data());
      under_way.pop_front();
    }
  };
  tasks.add(inside());
  co_await tasks.run();
}

}  // namespace ronde::comm::detail
