#include "ronde/comm/link/nodes/inter_node.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "ronde/base/error.h"
#include "ronde/comm/math/convert.h"
#include "ronde/comm/math/reduce.h"
#include "ronde/comm/math/reduce_value.h"

namespace ronde::comm::detail {
// What is sent is handed over before anything is asked for: Open MPI over TCP, given the receive first, took 690 ms for
// what takes 567 ms this way round (64 MiB between two nodes, 1 Gbit/s).
namespace {

constexpr std::array<std::string_view, 5> kNames{"gather", "doubling", "direct", "ring", "halving"};

void combine(const math::Reduction& reduction, std::byte* out, const std::vector<const std::byte*>& inputs,
             std::size_t bytes) {
  math::reduce(reduction.dtype, reduction.op, out, inputs, bytes / size_of(reduction.dtype), reduction.scale);
}

Tag second(const NodeGroup& group) {
  return {group.tag.channel, group.tag.lane + 1};
}

std::vector<SharedBuffer> pieces_of(const SharedBuffer& data, std::size_t count, std::size_t element) {
  const std::size_t elements = data.size() / element;
  std::vector<SharedBuffer> pieces;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t begin = elements * i / count * element, end = elements * (i + 1) / count * element;
    pieces.push_back(data.part(begin, end - begin));
  }
  return pieces;
}

// Everyone sums its own piece, in the order of nodes; pieces by node, of which a node is sent its own.
Task sum_own_piece(const NodeGroup& group, std::vector<SharedBuffer> pieces, math::Reduction reduction) {
  const auto nodes = group.ranks.size(), me = static_cast<std::size_t>(group.me);
  std::vector<SharedBuffer> theirs(nodes);
  std::vector<PendingMessage> messages;
  for (std::size_t n = 1; n < nodes; ++n) {
    const std::size_t to = (me + n) % nodes;
    messages.push_back(group.transport.send(group.ranks[to], group.tag, pieces[to]));
  }
  for (std::size_t n = 0; n < nodes; ++n) {
    if (n == me) continue;
    theirs[n] = SharedBuffer(pieces[me].size());
    messages.push_back(group.transport.receive(group.ranks[n], group.tag, theirs[n]));
  }
  for (const PendingMessage& message : messages) co_await arrives(message);
  theirs[me] = pieces[me];
  std::vector<const std::byte*> inputs;
  for (const SharedBuffer& one : theirs) inputs.push_back(one.data());
  combine(reduction, pieces[me].data(), inputs, pieces[me].size());
}

// Everyone's piece is all there is.
Task gather(const NodeGroup& group, SharedBuffer data, math::Reduction reduction) {
  return sum_own_piece(group, std::vector<SharedBuffer>(group.ranks.size(), data), reduction);
}

Task direct(const NodeGroup& group, SharedBuffer data, math::Reduction reduction) {
  const auto nodes = group.ranks.size(), me = static_cast<std::size_t>(group.me);
  const std::vector<SharedBuffer> pieces = pieces_of(data, nodes, size_of(reduction.dtype));
  co_await sum_own_piece(group, pieces, reduction);
  std::vector<PendingMessage> messages;
  for (std::size_t n = 1; n < nodes; ++n)
    messages.push_back(group.transport.send(group.ranks[(me + n) % nodes], second(group), pieces[me]));
  for (std::size_t n = 0; n < nodes; ++n)
    if (n != me) messages.push_back(group.transport.receive(group.ranks[n], second(group), pieces[n]));
  for (const PendingMessage& message : messages) co_await arrives(message);
}

// In step s everyone adds its own to what comes from the node before and hands it on; after nodes - 1 steps everyone
// holds one finished piece: that after its own.
Task ring_sum(const NodeGroup& group, std::vector<SharedBuffer> pieces, math::Reduction reduction) {
  const auto nodes = group.ranks.size(), me = static_cast<std::size_t>(group.me);
  const int after = group.ranks[(me + 1) % nodes], before = group.ranks[(me + nodes - 1) % nodes];
  for (std::size_t step = 0; step + 1 < nodes; ++step) {
    const SharedBuffer& out = pieces[(me + nodes - step) % nodes];
    const SharedBuffer& mine = pieces[(me + 2 * nodes - step - 1) % nodes];
    const SharedBuffer theirs(mine.size());
    const PendingMessage sent = group.transport.send(after, group.tag, out);
    const PendingMessage come = group.transport.receive(before, group.tag, theirs);
    co_await arrives(come);
    co_await arrives(sent);
    const bool last = step + 2 == nodes;
    const std::vector<const std::byte*> inputs{theirs.data(), mine.data()};
    combine(last ? reduction : reduction.unscaled(), mine.data(), inputs, mine.size());
  }
}

// A copy as f32, in which sums of 16-bit values travel unrounded.
SharedBuffer widened(const SharedBuffer& data, DType dtype) {
  const std::size_t count = data.size() / size_of(dtype);
  SharedBuffer wide(count * sizeof(float));
  math::convert(DType::F32, wide.data(), dtype, data.data(), count);
  return wide;
}

// Another round of handing on gives all to all.
Task ring(const NodeGroup& group, SharedBuffer data, math::Reduction reduction) {
  const auto nodes = group.ranks.size(), me = static_cast<std::size_t>(group.me);
  const int after = group.ranks[(me + 1) % nodes], before = group.ranks[(me + nodes - 1) % nodes];
  const std::vector<SharedBuffer> pieces = pieces_of(data, nodes, size_of(reduction.dtype));
  if (math::is_half(reduction.dtype)) {
    const std::vector<SharedBuffer> wide = pieces_of(widened(data, reduction.dtype), nodes, sizeof(float));
    co_await ring_sum(group, wide, reduction.as(DType::F32));
    const SharedBuffer &sum = wide[(me + 1) % nodes], &mine = pieces[(me + 1) % nodes];
    math::convert(reduction.dtype, mine.data(), DType::F32, sum.data(), sum.size() / sizeof(float));
  } else {
    co_await ring_sum(group, pieces, reduction);
  }
  for (std::size_t step = 0; step + 1 < nodes; ++step) {
    const PendingMessage sent = group.transport.send(after, second(group), pieces[(me + 1 + nodes - step) % nodes]);
    const PendingMessage come = group.transport.receive(before, second(group), pieces[(me + nodes - step) % nodes]);
    co_await arrives(come);
    co_await arrives(sent);
  }
}

// Nodes beyond the largest power of two hand theirs to a partner first and get the result from it.
Task doubling(const NodeGroup& group, SharedBuffer data, math::Reduction reduction) {
  const auto nodes = group.ranks.size(), me = static_cast<std::size_t>(group.me);
  const std::size_t core = std::bit_floor(nodes);
  const auto rank = [&](std::size_t node) { return group.ranks[node]; };
  const SharedBuffer theirs(data.size());
  const math::Reduction plain = reduction.unscaled();
  if (me >= core) {
    co_await arrives(group.transport.send(rank(me - core), group.tag, data));
    co_await arrives(group.transport.receive(rank(me - core), second(group), data));
    co_return;
  }
  if (me + core < nodes) {
    co_await arrives(group.transport.receive(rank(me + core), group.tag, theirs));
    const std::vector<const std::byte*> inputs{data.data(), theirs.data()};
    combine(plain, data.data(), inputs, data.size());
  }
  for (std::size_t distance = 1; distance < core; distance *= 2) {
    const std::size_t partner = me ^ distance;
    const PendingMessage sent = group.transport.send(rank(partner), group.tag, data);
    co_await arrives(group.transport.receive(rank(partner), group.tag, theirs));
    co_await arrives(sent);
    // Both put the lower node's part first, so both get the same bits.
    const bool mine_first = me < partner;
    const std::vector<const std::byte*> inputs{mine_first ? data.data() : theirs.data(),
                                               mine_first ? theirs.data() : data.data()};
    combine(plain, data.data(), inputs, data.size());
  }
  if (reduction.scale != 1.0) {
    const std::vector<const std::byte*> inputs{data.data()};
    combine(reduction, data.data(), inputs, data.size());
  }
  if (me + core < nodes) co_await arrives(group.transport.send(rank(me + core), second(group), data));
}

// Everyone rounds the same sum.
Task doubling_of_halves(const NodeGroup& group, SharedBuffer data, math::Reduction reduction) {
  const SharedBuffer wide = widened(data, reduction.dtype);
  co_await doubling(group, wide, reduction.as(DType::F32));
  math::convert(reduction.dtype, data.data(), DType::F32, wide.data(), data.size() / size_of(reduction.dtype));
}

// Recursive halving, then doubling. Of the pieces that a node still has, it sends one half to a partner and sums the
// other; in the end it has one, the sum over all nodes, and hands out as many again on the way back. Nodes beyond the
// largest power of two are as in doubling().
class Halves {
 public:
  Halves(const NodeGroup& group, SharedBuffer sums, SharedBuffer data, const math::Reduction& reduction)
      : group_(group),
        nodes_(group.ranks.size()),
        me_(static_cast<std::size_t>(group.me)),
        core_(std::bit_floor(nodes_)),
        sums_(std::move(sums)),
        data_(std::move(data)),
        reduction_(reduction),
        wide_(reduction.as(math::is_half(reduction.dtype) ? DType::F32 : reduction.dtype)) {}

  Task run() {
    if (me_ >= core_) {
      const PendingMessage sent = group_.transport.send(rank(me_ - core_), group_.tag, sums_);
      co_await arrives(group_.transport.receive(rank(me_ - core_), second(group_), data_));
      co_await arrives(sent);
      co_return;
    }
    if (me_ + core_ < nodes_) {
      const SharedBuffer theirs(sums_.size());
      co_await arrives(group_.transport.receive(rank(me_ + core_), group_.tag, theirs));
      add(sums_, theirs, /*mine_first=*/true);
    }
    co_await sum_halves();
    finish();
    co_await hand_out();
    if (me_ + core_ < nodes_) co_await arrives(group_.transport.send(rank(me_ + core_), second(group_), data_));
  }

 private:
  int rank(std::size_t node) const { return group_.ranks[node]; }
  // Pieces from `first` on, as many, of a buffer of such values.
  SharedBuffer pieces(const SharedBuffer& of, DType dtype, std::size_t first, std::size_t count) const {
    const std::size_t element = size_of(dtype), elements = of.size() / element;
    const std::size_t begin = elements * first / core_ * element, end = elements * (first + count) / core_ * element;
    return of.part(begin, end - begin);
  }
  void add(const SharedBuffer& mine, const SharedBuffer& theirs, bool mine_first) const {
    const std::vector<const std::byte*> inputs{mine_first ? mine.data() : theirs.data(),
                                               mine_first ? theirs.data() : mine.data()};
    combine(wide_.unscaled(), mine.data(), inputs, mine.size());
  }

  Task sum_halves() {
    std::size_t first = 0;
    for (std::size_t half = core_ / 2; half > 0; half /= 2) {
      const std::size_t partner = me_ ^ half;
      const bool lower = me_ < partner;
      const SharedBuffer kept = pieces(sums_, wide_.dtype, lower ? first : first + half, half),
                         given = pieces(sums_, wide_.dtype, lower ? first + half : first, half);
      const SharedBuffer theirs(kept.size());
      const PendingMessage sent = group_.transport.send(rank(partner), group_.tag, given);
      co_await arrives(group_.transport.receive(rank(partner), group_.tag, theirs));
      co_await arrives(sent);
      add(kept, theirs, lower);
      if (!lower) first += half;
    }
  }

  // Scaled, and rounded if need be.
  void finish() const {
    const SharedBuffer sum = pieces(sums_, wide_.dtype, me_, 1), mine = pieces(data_, reduction_.dtype, me_, 1);
    const std::vector<const std::byte*> inputs{sum.data()};
    combine(wide_, sum.data(), inputs, sum.size());
    if (wide_.dtype != reduction_.dtype)
      math::convert(reduction_.dtype, mine.data(), wide_.dtype, sum.data(), sum.size() / size_of(wide_.dtype));
  }

  Task hand_out() {
    for (std::size_t have = 1; have < core_; have *= 2) {
      const std::size_t partner = me_ ^ have, mine = me_ / have * have, theirs = partner / have * have;
      const PendingMessage sent =
          group_.transport.send(rank(partner), second(group_), pieces(data_, reduction_.dtype, mine, have));
      co_await arrives(
          group_.transport.receive(rank(partner), second(group_), pieces(data_, reduction_.dtype, theirs, have)));
      co_await arrives(sent);
    }
  }

  const NodeGroup& group_;
  const std::size_t nodes_, me_, core_;
  const SharedBuffer sums_, data_;  // the same memory, but for values of 16 bits
  const math::Reduction reduction_, wide_;
};

Task halving(const NodeGroup& group, SharedBuffer data, math::Reduction reduction) {
  Halves halves(group, math::is_half(reduction.dtype) ? widened(data, reduction.dtype) : data, data, reduction);
  co_await halves.run();
}

}  // namespace

std::string_view name(InterNodeAlgorithm algorithm) {
  return kNames[static_cast<std::size_t>(algorithm)];
}

std::optional<InterNodeAlgorithm> inter_node_by_name(std::string_view name) {
  const auto found = std::ranges::find(kNames, name);
  if (found == kNames.end()) return {};
  return static_cast<InterNodeAlgorithm>(found - kNames.begin());
}

std::optional<InterNodeAlgorithm> inter_node_by_number(std::size_t number) {
  if (number == 0) return {};
  if (number > kAllInterNode.size())
    throw Error(Error::Kind::System, fmt::format("a rank chose algorithm {} between nodes, but the last one is {}",
                                                 number, kAllInterNode.size()));
  return kAllInterNode[number - 1];
}

InterNodeAlgorithm choose_inter_node(std::size_t bytes, int nodes, bool in_order) {
  constexpr std::size_t kLittle = 32 << 10;
  constexpr int kFew = 8;
  if (nodes == 2) return InterNodeAlgorithm::Gather;  // no fewer bytes than any other, and one hop
  if (bytes <= kLittle) return nodes <= kFew || in_order ? InterNodeAlgorithm::Gather : InterNodeAlgorithm::Doubling;
  if (nodes <= kFewNodes || in_order) return InterNodeAlgorithm::Direct;
  // A ring has many hops in a row: it is for pieces that take longer on the wire than to begin with.
  constexpr std::size_t kLongPiece = 256 << 10;
  return bytes / static_cast<std::size_t>(nodes) < kLongPiece ? InterNodeAlgorithm::Halving : InterNodeAlgorithm::Ring;
}

std::size_t chunk_bytes_for(std::size_t least, int nodes, std::size_t slices) {
  constexpr std::size_t kPiece = 4 << 10, kMost = std::size_t{64} << 20;
  const std::size_t wanted = kPiece * static_cast<std::size_t>(nodes) * slices;
  return std::max(least, nodes <= kFewNodes ? least : std::min(wanted, kMost));
}

// Of two neighbouring powers of two the smaller one: rounding sums of a few large values up must not overflow.
TwoSteps two_steps(const math::Reduction& reduction, std::size_t most) {
  const bool sums = reduction.op == ReduceOp::Sum || reduction.op == ReduceOp::Average;
  if (!sums || !math::is_half(reduction.dtype)) return {reduction.unscaled(), reduction};
  const double mean = std::ldexp(1.0, -std::bit_width(most - 1));  // no larger than 1 / most
  const double whole = std::ldexp(1.0, std::ilogb(reduction.scale));
  const double first = std::clamp(whole, mean, 1.0);
  return {{reduction.dtype, reduction.op, first}, {reduction.dtype, reduction.op, reduction.scale / first}};
}

Task allreduce_inter_node(const NodeGroup& group, InterNodeAlgorithm algorithm, SharedBuffer data,
                          math::Reduction reduction) {
  const bool half = math::is_half(reduction.dtype), hands_on_sums = algorithm == InterNodeAlgorithm::Doubling ||
                                                                    algorithm == InterNodeAlgorithm::Ring ||
                                                                    algorithm == InterNodeAlgorithm::Halving;
  if (half && hands_on_sums && std::ssize(group.ranks) <= kFewNodes) algorithm = InterNodeAlgorithm::Direct;
  switch (algorithm) {
    case InterNodeAlgorithm::Gather: return gather(group, std::move(data), reduction);
    case InterNodeAlgorithm::Doubling:
      return half ? doubling_of_halves(group, std::move(data), reduction) : doubling(group, std::move(data), reduction);
    case InterNodeAlgorithm::Direct: return direct(group, std::move(data), reduction);
    case InterNodeAlgorithm::Halving: return halving(group, std::move(data), reduction);
    default: return ring(group, std::move(data), reduction);
  }
}

}  // namespace ronde::comm::detail
