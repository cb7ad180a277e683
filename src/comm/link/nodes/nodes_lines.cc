// What members on many nodes do with data without a connection to each node: in steps over doubling distances, or up a
// tree. Sums travel as f32 where values have 16 bits, so that they are rounded once.
#include <algorithm>
#include <cstring>

#include "ronde/comm/link/nodes/nodes_lanes.h"
#include "ronde/comm/link/nodes/nodes_link.h"
#include "ronde/comm/link/nodes/routes.h"
#include "ronde/comm/math/convert.h"
#include "ronde/comm/math/reduce.h"
#include "ronde/comm/math/reduce_value.h"

namespace ronde::comm::detail {
namespace {

void add(const math::Reduction& reduction, SharedBuffer to, const SharedBuffer& from) {
  const std::vector<const std::byte*> inputs{to.data(), from.data()};
  const math::Reduction plain = reduction.unscaled();
  math::reduce(plain.dtype, plain.op, to.data(), inputs, to.size() / size_of(plain.dtype), plain.scale);
}

// What sums of such values travel as.
DType wide_type(DType dtype) {
  return math::is_half(dtype) ? DType::F32 : dtype;
}

// The same values in the type that sums travel as.
void retype(DType to, std::byte* out, DType from, const std::byte* in, std::size_t count) {
  if (to != from) return math::convert(to, out, from, in, count);
  if (count > 0) std::memcpy(out, in, count * size_of(from));
}

SharedBuffer widened(ConstBytes data, DType dtype) {
  const std::size_t count = data.size() / size_of(dtype);
  SharedBuffer wide(count * size_of(wide_type(dtype)));
  retype(wide_type(dtype), wide.data(), dtype, data.data(), count);
  return wide;
}

// Scaled, and rounded if need be.
void finish(Bytes out, const SharedBuffer& sum, const math::Reduction& reduction) {
  const math::Reduction wide = reduction.as(wide_type(reduction.dtype));
  const std::size_t count = out.size() / size_of(reduction.dtype);
  const std::vector<const std::byte*> inputs{sum.data()};
  math::reduce(wide.dtype, wide.op, sum.data(), inputs, count, wide.scale);
  retype(reduction.dtype, out.data(), wide.dtype, sum.data(), count);
}

}  // namespace

int NodesLink::in_line(int distance) const {
  return rank_of(layout_->stand_in((node_ + distance + nodes()) % nodes(), place_));
}

std::span<const int> NodesLink::of_line(int node, std::size_t line) const {
  const std::vector<int>& members = layout_->node(node);
  return lines() == 1 ? std::span<const int>(members) : std::span(members).subspan(line, 1);
}

template <class Part>
NodesLink::Bundle NodesLink::bundle_of(std::size_t line, const std::vector<Part>& parts) const {
  Bundle bundle;
  std::size_t at = 0;
  for (int before = 0; before < nodes(); ++before) {
    bundle.begins.push_back(at);
    for (const int member : of_line((node_ + nodes() - before) % nodes(), line)) {
      bundle.members.push_back(member);
      at += parts[static_cast<std::size_t>(member)].size();
    }
  }
  bundle.begins.push_back(at);
  return bundle;
}

// In step s everyone hands the node 2^s after it what it has of the last 2^s nodes; then the members of each node
// exchange what their lines have brought.
Task NodesLink::gather_by_lines(Transport& transport, Tag tag, ConstBytes mine, std::vector<Bytes> out) {
  const std::size_t count = lines(), line = static_cast<std::size_t>(place_);
  if (count == 1) co_await local_->allgather(mine, local_part(out));
  std::vector<Bundle> bundles;
  std::vector<SharedBuffer> memory;
  for (std::size_t one = 0; one < count; ++one) {
    bundles.push_back(bundle_of(one, out));
    memory.emplace_back(bundles.back().begins.back());
  }
  std::vector<PendingMessage> going;
  if (line < count) {
    const Bundle& bundle = bundles[line];
    const SharedBuffer& all = memory[line];
    std::size_t at = 0;
    for (const int member : of_line(node_, line)) {
      const ConstBytes own = count == 1 ? ConstBytes(out[static_cast<std::size_t>(member)]) : mine;
      if (!own.empty()) std::memcpy(all.data() + at, own.data(), own.size());
      at += own.size();
    }
    for (const int distance : vote_distances(nodes())) {
      const auto have = static_cast<std::size_t>(distance),
                 more = std::min(have, static_cast<std::size_t>(nodes()) - have);
      going.push_back(transport.send(in_line(distance), tag, all.part(0, bundle.begins[more])));
      const std::size_t begin = bundle.begins[have], end = bundle.begins[have + more];
      co_await arrives(transport.receive(in_line(-distance), tag, all.part(begin, end - begin)));
    }
  }
  if (count == 1) {
    co_await local_->broadcast(memory[0].bytes(), 0);
  } else {
    std::vector<Bytes> places;
    for (const SharedBuffer& one : memory) places.push_back(one.bytes());
    const SharedBuffer own = memory[line];
    co_await local_->allgather(own.bytes(), places);
  }
  for (std::size_t one = 0; one < count; ++one) {
    std::size_t at = 0;
    for (const int member : bundles[one].members) {
      const Bytes to = out[static_cast<std::size_t>(member)];
      if (!to.empty()) std::memcpy(to.data(), memory[one].data() + at, to.size());
      at += to.size();
    }
  }
  for (const PendingMessage& message : going) co_await arrives(message);
}

// The same backwards: in each step everyone hands back sums of what is meant for nodes further on. A line has what its
// members are to get, summed over the node.
Task NodesLink::reduce_scatter_by_lines(std::vector<ConstBytes> send, Bytes out, math::Reduction reduction) {
  const TwoSteps steps = two_steps(reduction, layout_->widest());
  const std::size_t line = static_cast<std::size_t>(place_);
  std::vector<SharedBuffer> memory;
  std::vector<ConstBytes> parts;
  for (std::size_t one = 0; one < lines(); ++one) {
    const Bundle bundle = bundle_of(one, send);
    memory.emplace_back(bundle.begins.back());
    std::size_t at = 0;
    for (const int member : bundle.members) {
      const ConstBytes part = send[static_cast<std::size_t>(member)];
      if (!part.empty()) std::memcpy(memory.back().data() + at, part.data(), part.size());
      at += part.size();
    }
    parts.push_back(memory.back().bytes());
  }
  const Bundle bundle = bundle_of(line, send);
  const SharedBuffer sums(bundle.begins.back());
  co_await local_->reduce_scatter(parts, sums.bytes(), steps.in_node);
  const DType wide = wide_type(reduction.dtype);
  const SharedBuffer all = widened(sums.bytes(), reduction.dtype);
  const auto place = [&](std::size_t node) { return bundle.begins[node] / size_of(reduction.dtype) * size_of(wide); };
  std::vector<PendingMessage> going;
  std::vector<int> distances = vote_distances(nodes());
  std::ranges::reverse(distances);
  for (const int distance : distances) {
    const auto have = static_cast<std::size_t>(distance),
               more = std::min(have, static_cast<std::size_t>(nodes()) - have);
    going.push_back(
        data_.send(in_line(-distance), data_tag(kOtherLane), all.part(place(have), place(have + more) - place(have))));
    const SharedBuffer theirs(place(more));
    co_await arrives(data_.receive(in_line(distance), data_tag(kOtherLane), theirs));
    add(steps.inter_node.as(wide), all.part(0, place(more)), theirs);
  }
  if (!out.empty()) finish(out, all.part(0, place(1)), steps.inter_node);
  for (const PendingMessage& message : going) co_await arrives(message);
}

// Up a binary tree of nodes, in pieces, so that a node hands one on while the next one comes.
Task NodesLink::reduce_by_tree(ConstBytes data, Bytes out, int root, math::Reduction reduction) {
  constexpr std::size_t kPiece = 1 << 20;
  if (data.empty()) co_return;
  const int source = node_of(root), gateway = node_ == source ? place_of(root) : 0;
  const TwoSteps steps = two_steps(reduction, layout_->widest());
  const SharedBuffer own(place_ == gateway ? data.size() : 0);
  co_await local_->reduce(data, own.bytes(), gateway, steps.in_node);
  if (place_ != gateway) co_return;
  const auto rank_at = [&](int step) {  // of the node at that place of a tree whose root is the root's node
    const int node = (step + source) % nodes();
    return node == source ? rank_of(root) : leader(node);
  };
  const TreePlace tree = tree_place((node_ + nodes() - source) % nodes(), nodes());
  const math::Reduction wide = steps.inter_node.as(wide_type(reduction.dtype));
  const SharedBuffer sum = widened(own.bytes(), reduction.dtype);
  std::vector<PendingMessage> going;
  for (std::size_t at = 0; at < sum.size(); at += kPiece) {
    const SharedBuffer piece = sum.part(at, std::min(kPiece, sum.size() - at));
    std::vector<std::pair<SharedBuffer, PendingMessage>> coming;
    for (const int child : tree.children) {
      const SharedBuffer room(piece.size());
      coming.emplace_back(room, data_.receive(rank_at(child), data_tag(kOtherLane), room));
    }
    for (const auto& [theirs, message] : coming) {
      co_await arrives(message);
      add(wide, piece, theirs);
    }
    if (me_ != root) going.push_back(data_.send(rank_at(tree.parent), data_tag(kOtherLane), piece));
  }
  if (me_ == root) finish(out, sum, steps.inter_node);
  for (const PendingMessage& message : going) co_await arrives(message);
}

// Members of a node first hand each other what is meant for their lines; then, in step s, everyone hands the node 2^s
// after it what is meant for nodes whose distance has this bit.
Task NodesLink::swap(std::vector<std::uint64_t> mine, std::vector<std::uint64_t>& theirs) {
  const std::size_t width = layout_->widest(), count = static_cast<std::size_t>(nodes());
  if (!many_nodes() || width != layout_->narrowest()) {
    co_await Link::swap(std::move(mine), theirs);
    co_return;
  }
  const auto member = [&](std::size_t after, std::size_t place) {  // so many nodes after mine
    return static_cast<std::size_t>(
        layout_->node(static_cast<int>((static_cast<std::size_t>(node_) + after) % count))[place]);
  };
  // By place, then by how many nodes after mine; and from each place of this node, for this line.
  std::vector<std::vector<std::uint64_t>> to_place(width, std::vector<std::uint64_t>(count)), from_place = to_place;
  std::vector<ConstBytes> send;
  std::vector<Bytes> room;
  for (std::size_t place = 0; place < width; ++place) {
    for (std::size_t after = 0; after < count; ++after) to_place[place][after] = mine[member(after, place)];
    send.push_back(std::as_bytes(std::span(to_place[place])));
    room.push_back(std::as_writable_bytes(std::span(from_place[place])));
  }
  co_await local_->alltoall(send, room);
  for (const int distance : vote_distances(nodes())) {
    std::vector<std::size_t> moved;
    for (std::size_t after = 0; after < count; ++after)
      if (after & static_cast<std::size_t>(distance)) moved.push_back(after);
    const SharedBuffer out(moved.size() * width * sizeof(std::uint64_t)), in(out.size());
    std::size_t at = 0;
    for (const std::size_t after : moved)
      for (std::size_t place = 0; place < width; ++place, at += sizeof(std::uint64_t))
        std::memcpy(out.data() + at, &from_place[place][after], sizeof(std::uint64_t));
    mesh_.send(in_line(distance), tag(kOtherLane), out);
    co_await arrives(mesh_.receive(in_line(-distance), tag(kOtherLane), in));
    at = 0;
    for (const std::size_t after : moved)
      for (std::size_t place = 0; place < width; ++place, at += sizeof(std::uint64_t))
        std::memcpy(&from_place[place][after], in.data() + at, sizeof(std::uint64_t));
  }
  theirs.assign(mine.size(), 0);
  for (std::size_t after = 0; after < count; ++after)
    for (std::size_t place = 0; place < width; ++place) theirs[member(count - after, place)] = from_place[place][after];
}

}  // namespace ronde::comm::detail
