// What members on several nodes do with data, all but allreduce. What travels between nodes lies in memory of our own,
// since a message may still be on its way when the program has given up and freed its own.
#include <algorithm>
#include <bit>
#include <cstring>
#include <deque>

#include "ronde/comm/link/nodes/nodes_lanes.h"
#include "ronde/comm/link/nodes/nodes_link.h"
#include "ronde/comm/math/reduce.h"

namespace ronde::comm::detail {
namespace {

SharedBuffer copy_of(ConstBytes bytes) {
  SharedBuffer buffer(bytes.size());
  if (!bytes.empty()) std::memcpy(buffer.data(), bytes.data(), bytes.size());
  return buffer;
}

void copy(Bytes to, const SharedBuffer& from) {
  if (!to.empty()) std::memcpy(to.data(), from.data(), to.size());
}

// In the order of nodes.
void reduce_parts(const std::vector<SharedBuffer>& parts, Bytes out, const math::Reduction& reduction) {
  std::vector<const std::byte*> inputs;
  for (const SharedBuffer& part : parts) inputs.push_back(part.data());
  math::reduce(reduction.dtype, reduction.op, out.data(), inputs, out.size() / size_of(reduction.dtype),
               reduction.scale);
}

}  // namespace

// In pieces, so that a node hands one on while the next one comes. In the root's node the root itself talks to others.
Task NodesLink::broadcast(Bytes data, int root) {
  constexpr std::size_t kPiece = 1 << 20, kAhead = 4;
  const int source = node_of(root), mine = (node_ + nodes() - source) % nodes();
  const int gateway = node_ == source ? place_of(root) : 0;
  const auto node_rank = [&](int node) { return node == source ? rank_of(root) : leader(node); };
  std::deque<std::pair<SharedBuffer, PendingMessage>> coming;
  std::deque<PendingMessage> going;
  std::size_t asked = 0;
  for (std::size_t at = 0; at < data.size(); at += kPiece) {
    const Bytes piece = data.subspan(at, std::min(kPiece, data.size() - at));
    SharedBuffer buffer;
    if (place_ == gateway) {
      if (node_ == source) buffer = copy_of(piece);
      // Who has it hands it to the node at distance 1, then both at distance 2, and so on.
      const int distance = mine == 0 ? 0 : static_cast<int>(std::bit_floor(static_cast<unsigned>(mine)));
      for (; mine != 0 && asked < data.size() && asked < at + kAhead * kPiece; asked += kPiece) {
        SharedBuffer room(std::min(kPiece, data.size() - asked));
        coming.emplace_back(
            room, data_.receive(node_rank((node_ + nodes() - distance) % nodes()), data_tag(kOtherLane), room));
      }
      if (mine != 0) {
        co_await arrives(coming.front().second);
        buffer = coming.front().first;
        coming.pop_front();
        copy(piece, buffer);
      }
      for (int next = distance == 0 ? 1 : 2 * distance; mine + next < nodes(); next *= 2)
        going.push_back(data_.send(node_rank((node_ + next) % nodes()), data_tag(kOtherLane), buffer));
    }
    co_await local_->broadcast(piece, gateway);
    while (going.size() > kAhead * static_cast<std::size_t>(nodes())) {
      co_await arrives(going.front());
      going.pop_front();
    }
  }
  for (const PendingMessage& message : going) co_await arrives(message);
}

// Everyone sends its own to one member of each other node, which hands it on there.
Task NodesLink::gather_directly(Transport& transport, Tag tag, ConstBytes mine, std::vector<Bytes> out) {
  const SharedBuffer buffer = copy_of(mine);
  std::vector<PendingMessage> going;
  for (int other = 0; other < nodes() && !mine.empty(); ++other)
    if (other != node_) going.push_back(transport.send(rank_of(layout_->stand_in(other, place_)), tag, buffer));
  const auto responsible = [this](int member) { return place_of(layout_->stand_in(node_, place_of(member))); };
  std::vector<std::pair<SharedBuffer, PendingMessage>> coming(out.size());
  for (int member = 0; member < size(); ++member) {
    const auto index = static_cast<std::size_t>(member);
    if (is_local(member) || responsible(member) != place_ || out[index].empty()) continue;
    SharedBuffer room(out[index].size());
    coming[index] = {room, transport.receive(rank_of(member), tag, room)};
  }
  co_await local_->allgather(mine, local_part(out));
  for (int member = 0; member < size(); ++member) {
    const auto index = static_cast<std::size_t>(member);
    if (is_local(member) || out[index].empty()) continue;
    if (coming[index].second) {
      co_await arrives(coming[index].second);
      copy(out[index], coming[index].first);
    }
    co_await local_->broadcast(out[index], responsible(member));
  }
  for (const PendingMessage& message : going) co_await arrives(message);
}

Task NodesLink::gather_over(Transport& transport, Tag tag, ConstBytes mine, std::vector<Bytes> out) {
  if (many_nodes()) return gather_by_lines(transport, tag, mine, std::move(out));
  return gather_directly(transport, tag, mine, std::move(out));
}

Task NodesLink::allgather(ConstBytes mine, std::vector<Bytes> out) {
  return gather_over(data_, data_tag(kOtherLane), mine, std::move(out));
}

Task NodesLink::alltoall(std::vector<ConstBytes> send, std::vector<Bytes> out) {
  std::vector<PendingMessage> going;
  std::vector<std::pair<SharedBuffer, PendingMessage>> coming(out.size());
  for (int member = 0; member < size(); ++member) {
    const auto index = static_cast<std::size_t>(member);
    if (is_local(member) || out[index].empty()) continue;
    SharedBuffer room(out[index].size());
    coming[index] = {room, data_.receive(rank_of(member), data_tag(kOtherLane), room)};
  }
  for (int step = 1; step < size(); ++step) {  // not all to the same one first
    const int member = (me_ + step) % size();
    const auto index = static_cast<std::size_t>(member);
    if (is_local(member) || send[index].empty()) continue;
    going.push_back(data_.send(rank_of(member), data_tag(kOtherLane), copy_of(send[index])));
  }
  co_await local_->alltoall(local_part(send), local_part(out));
  for (std::size_t index = 0; index < out.size(); ++index) {
    if (!coming[index].second) continue;
    co_await arrives(coming[index].second);
    copy(out[index], coming[index].first);
  }
  for (const PendingMessage& message : going) co_await arrives(message);
}

// Sums that are handed on come in an order of their own.
Task NodesLink::reduce_scatter(std::vector<ConstBytes> send, Bytes out, math::Reduction reduction) {
  if (many_nodes() && !tuning_.in_order && layout_->widest() == layout_->narrowest())
    return reduce_scatter_by_lines(std::move(send), out, reduction);
  return reduce_scatter_directly(std::move(send), out, reduction);
}

Task NodesLink::reduce(ConstBytes data, Bytes out, int root, math::Reduction reduction) {
  if (many_nodes() && !tuning_.in_order) return reduce_by_tree(data, out, root, reduction);
  return reduce_directly(data, out, root, reduction);
}

// Each node sums what is meant for a member elsewhere, and one of it sends that; who gets it sums over the nodes.
Task NodesLink::reduce_scatter_directly(std::vector<ConstBytes> send, Bytes out, math::Reduction reduction) {
  const TwoSteps steps = two_steps(reduction, layout_->widest());
  std::vector<SharedBuffer> parts(layout_->nodes.size());
  std::vector<PendingMessage> coming, going;
  for (int other = 0; other < nodes() && !out.empty(); ++other) {
    parts[static_cast<std::size_t>(other)] = SharedBuffer(out.size());
    if (other == node_) continue;
    coming.push_back(data_.receive(rank_of(layout_->stand_in(other, place_)), data_tag(kOtherLane),
                                   parts[static_cast<std::size_t>(other)]));
  }
  for (int member = 0; member < size(); ++member) {
    const ConstBytes theirs = send[static_cast<std::size_t>(member)];
    if (is_local(member) || theirs.empty()) continue;
    const int responsible = place_of(layout_->stand_in(node_, place_of(member)));
    const SharedBuffer sum(responsible == place_ ? theirs.size() : 0);
    co_await local_->reduce(theirs, sum.bytes(), responsible, steps.in_node);
    if (responsible == place_) going.push_back(data_.send(rank_of(member), data_tag(kOtherLane), sum));
  }
  co_await local_->reduce_scatter(local_part(send), parts[static_cast<std::size_t>(node_)].bytes(), steps.in_node);
  for (const PendingMessage& message : coming) co_await arrives(message);
  if (!out.empty()) reduce_parts(parts, out, steps.inter_node);
  for (const PendingMessage& message : going) co_await arrives(message);
}

Task NodesLink::reduce_directly(ConstBytes data, Bytes out, int root, math::Reduction reduction) {
  if (data.empty()) co_return;
  const int source = node_of(root), gateway = node_ == source ? place_of(root) : 0;
  const TwoSteps steps = two_steps(reduction, layout_->widest());
  const SharedBuffer sum(place_ == gateway ? data.size() : 0);
  std::vector<SharedBuffer> parts(layout_->nodes.size());
  std::vector<PendingMessage> messages;
  for (int other = 0; other < nodes() && me_ == root; ++other) {
    SharedBuffer& part = parts[static_cast<std::size_t>(other)];
    part = other == node_ ? sum : SharedBuffer(data.size());
    if (other != node_) messages.push_back(data_.receive(leader(other), data_tag(kOtherLane), part));
  }
  co_await local_->reduce(data, sum.bytes(), gateway, steps.in_node);
  if (node_ != source && place_ == gateway) messages.push_back(data_.send(rank_of(root), data_tag(kOtherLane), sum));
  for (const PendingMessage& message : messages) co_await arrives(message);
  if (me_ == root) reduce_parts(parts, out, steps.inter_node);
}

Task NodesLink::barrier() {
  co_await local_->barrier();
  for (int distance = 1; leads() && distance < nodes(); distance *= 2) {
    mesh_.send(leader((node_ + distance) % nodes()), tag(kBarrierLane), SharedBuffer(0));
    co_await arrives(mesh_.receive(leader((node_ + nodes() - distance) % nodes()), tag(kBarrierLane), SharedBuffer(0)));
  }
  co_await local_->barrier();
}

Task NodesLink::share(std::vector<std::uint64_t> mine, std::vector<std::uint64_t>& all) {
  const std::size_t words = mine.size();
  all.assign(words * ranks_->size(), 0);
  std::vector<Bytes> places;
  for (std::size_t member = 0; member < ranks_->size(); ++member)
    places.push_back(std::as_writable_bytes(std::span(all).subspan(member * words, words)));
  co_await gather_over(mesh_, tag(kOtherLane), std::as_bytes(std::span(mine)),
                       places);  // a few words: see allreduce_small()
}

}  // namespace ronde::comm::detail
