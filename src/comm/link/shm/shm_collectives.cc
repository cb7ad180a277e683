#include "ronde/comm/link/shm/shm_collectives.h"

#include <algorithm>
#include <cstring>

#include "ronde/comm/math/reduce.h"

namespace ronde::comm::detail {
namespace {

// Everyone shows one chunk after the other, and everyone looks at all of them. show(round, room) fills up to
// kChunkBytes; use(round, shown) reads them, shown(member) being what a member has shown. One chunk is always ahead.
template <class Show, class Use>
Task stream(Channel& channel, std::uint64_t rounds, Show show, Use use) {
  const std::uint64_t first = channel.chunks;
  channel.chunks += rounds;
  for (std::uint64_t round = 0; round <= rounds; ++round) {
    if (round < rounds) {
      // The buffer was last read in the chunk before the previous one.
      for (int member = 0; first + round >= 2 && member < channel.size(); ++member)
        co_await reaches(channel.area(member).drained, first + round - 1);
      show(round, channel.mine().staged[(first + round) % 2].data());
      channel.raise(channel.mine().filled, first + round + 1);
    }
    if (round == 0) continue;
    for (int member = 0; member < channel.size(); ++member)
      co_await reaches(channel.area(member).filled, first + round);
    const std::uint64_t buffer = (first + round - 1) % 2;
    use(round - 1, [&](int member) -> const std::byte* { return channel.area(member).staged[buffer].data(); });
    channel.raise(channel.mine().drained, first + round);
  }
}

std::uint64_t rounds_for(std::size_t bytes, std::size_t per_round) {
  return (bytes + per_round - 1) / per_round;
}

// What of `whole` belongs to a round; empty when it has ended before.
template <class Span>
Span piece(Span whole, std::uint64_t round, std::size_t per_round) {
  const std::size_t begin = std::min(whole.size(), round * per_round);
  return whole.subspan(begin, std::min(per_round, whole.size() - begin));
}

void copy(Bytes to, const std::byte* from) {
  if (!to.empty()) std::memcpy(to.data(), from, to.size());
}
void copy(std::byte* to, ConstBytes from) {
  if (!from.empty()) std::memcpy(to, from.data(), from.size());
}

// A chunk that has a part for each member: its lane.
std::size_t lane_bytes(const Channel& channel) {
  constexpr std::size_t kLine = 64;
  return kChunkBytes / static_cast<std::size_t>(channel.size()) / kLine * kLine;
}

// Fills the lanes of everyone but me: my own needs no trip.
void show_lanes(const Channel& channel, const std::vector<ConstBytes>& send, std::uint64_t round, std::byte* room) {
  const std::size_t lane = lane_bytes(channel);
  for (int member = 0; member < channel.size(); ++member) {
    const auto index = static_cast<std::size_t>(member);
    if (member != channel.rank()) copy(room + index * lane, piece(send[index], round, lane));
  }
}

template <class Shown>
void reduce_piece(const Channel& channel, Bytes out, ConstBytes mine, Shown shown, const math::Reduction& reduction) {
  std::vector<const std::byte*> inputs;
  for (int member = 0; member < channel.size(); ++member)
    inputs.push_back(member == channel.rank() ? mine.data() : shown(member));
  math::reduce(reduction.dtype, reduction.op, out.data(), inputs, out.size() / size_of(reduction.dtype),
               reduction.scale);
}

}  // namespace

Task shm_barrier(Channel& channel) {
  return exchange(channel, {}, [](int, const std::byte*) {});
}

Task shm_broadcast(Channel& channel, Bytes data, int root) {
  const auto show = [&channel, data, root](std::uint64_t round, std::byte* room) {
    if (channel.rank() == root) copy(room, ConstBytes(piece(data, round, kChunkBytes)));
  };
  const auto use = [&channel, data, root](std::uint64_t round, auto shown) {
    if (channel.rank() != root) copy(piece(data, round, kChunkBytes), shown(root));
  };
  return stream(channel, rounds_for(data.size(), kChunkBytes), show, use);
}

Task shm_allgather(Channel& channel, ConstBytes mine, std::vector<Bytes> out) {
  std::size_t most = 0;
  for (const Bytes& theirs : out) most = std::max(most, theirs.size());
  const auto show = [mine](std::uint64_t round, std::byte* room) { copy(room, piece(mine, round, kChunkBytes)); };
  const auto use = [out = std::move(out)](std::uint64_t round, auto shown) {
    for (std::size_t m = 0; m < out.size(); ++m) copy(piece(out[m], round, kChunkBytes), shown(static_cast<int>(m)));
  };
  return stream(channel, rounds_for(most, kChunkBytes), show, use);
}

Task shm_alltoall(Channel& channel, std::vector<ConstBytes> send, std::vector<Bytes> out) {
  // Nobody knows what others send to others: the longest lane decides how many rounds all of us go.
  std::uint64_t longest = 0, rounds = 0;
  for (const ConstBytes& lane : send) longest = std::max<std::uint64_t>(longest, lane.size());
  const auto widest = [&](int, const std::byte* shown) {
    std::uint64_t theirs = 0;
    std::memcpy(&theirs, shown, sizeof(theirs));
    rounds = std::max(rounds, rounds_for(theirs, lane_bytes(channel)));
  };
  co_await exchange(channel, std::as_bytes(std::span(&longest, 1)), widest);
  const auto me = static_cast<std::size_t>(channel.rank());
  copy(out[me], send[me].data());
  const auto show = [&](std::uint64_t round, std::byte* room) { show_lanes(channel, send, round, room); };
  const auto use = [&](std::uint64_t round, auto shown) {
    for (std::size_t m = 0; m < out.size(); ++m)
      if (m != me)
        copy(piece(out[m], round, lane_bytes(channel)), shown(static_cast<int>(m)) + me * lane_bytes(channel));
  };
  co_await stream(channel, rounds, show, use);
}

Task shm_reduce_scatter(Channel& channel, std::vector<ConstBytes> send, Bytes out, math::Reduction reduction) {
  std::size_t longest = 0;
  for (const ConstBytes& lane : send) longest = std::max(longest, lane.size());
  const auto me = static_cast<std::size_t>(channel.rank());
  const auto show = [&](std::uint64_t round, std::byte* room) { show_lanes(channel, send, round, room); };
  const auto use = [&](std::uint64_t round, auto shown) {
    const std::size_t lane = lane_bytes(channel);
    const auto lane_of = [&](int member) { return shown(member) + me * lane; };
    reduce_piece(channel, piece(out, round, lane), piece(send[me], round, lane), lane_of, reduction);
  };
  co_await stream(channel, rounds_for(longest, lane_bytes(channel)), show, use);
}

Task shm_reduce(Channel& channel, ConstBytes data, Bytes out, int root, math::Reduction reduction) {
  const auto show = [&channel, data, root](std::uint64_t round, std::byte* room) {
    if (channel.rank() != root) copy(room, piece(data, round, kChunkBytes));
  };
  const auto use = [&channel, data, out, root, reduction](std::uint64_t round, auto shown) {
    if (channel.rank() != root) return;
    reduce_piece(channel, piece(out, round, kChunkBytes), piece(data, round, kChunkBytes), shown, reduction);
  };
  return stream(channel, rounds_for(data.size(), kChunkBytes), show, use);
}

}  // namespace ronde::comm::detail
