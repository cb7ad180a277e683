#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ronde/comm/link/shm/node.h"
#include "ronde/comm/link/task.h"

namespace ronde::comm::detail {

inline constexpr std::size_t kSmallBytes = 16 << 10;   // what one exchange() carries at most, per member
inline constexpr std::size_t kChunkBytes = 512 << 10;  // what a member shows at once of something large

// What a member of a group shows to the others, in its own arena. Works from zeroed memory, with no constructor.
//
// Invariants. All counters only grow, over the whole life of the channel, and every member raises them in the same
// order. A buffer is written again only when everyone has shown, by a counter, that it will not read it any more:
//   small[r % 2]   is read in round r; who has published round r + 1 has left round r behind
//   staged[k % 2]  is read in chunk k by everyone who has `drained` less than k + 1
// Its owner alone writes here, but for an allreduce, where what is shown has one reader: that one writes back, when it
// has read and before it raises its next counter. Not only to hand over results: on the EPYC that we measured, writing
// what another core has read and left as it was takes four times as long as writing what it has changed, and six times
// as long when reading from that core is slow too.
struct ChannelArea {
  alignas(64) std::atomic<std::uint64_t> published;
  alignas(64) std::atomic<std::uint64_t> filled;
  alignas(64) std::atomic<std::uint64_t> reduced;
  alignas(64) std::atomic<std::uint64_t> drained;
  alignas(64) std::array<std::array<std::byte, kSmallBytes>, 2> small;
  alignas(64) std::array<std::array<std::byte, kChunkBytes>, 2> staged;
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "a lock would lie in one process only");

// One conversation between the members of a group on one node. Operations follow one another: a member begins the next
// when the one before is done. Owned by the thread that carries the rank's work.
class Channel {
 public:
  // `members` are ranks of the node, in the group's order; `areas` where each one's area lies in its arena.
  Channel(Node& node, std::vector<int> members, std::span<const std::size_t> areas);

  // A fresh area in the own arena, for others to be told its offset.
  static std::size_t make_area(Node& node);

  int rank() const { return rank_; }  // in the group
  int size() const { return static_cast<int>(areas_.size()); }
  ChannelArea& area(int member) const { return *areas_[static_cast<std::size_t>(member)]; }
  ChannelArea& mine() const { return area(rank_); }
  Node& node() const { return node_; }
  int node_rank(int member) const { return members_[static_cast<std::size_t>(member)]; }

  // Raises one of my counters, and wakes whoever sleeps.
  void raise(std::atomic<std::uint64_t>& counter, std::uint64_t value) const;

  std::uint64_t rounds = 0;  // exchanges begun so far
  std::uint64_t chunks = 0;  // chunks gone through so far

 private:
  Node& node_;
  std::vector<int> members_;
  std::vector<int> others_;  // members_ without me
  std::vector<ChannelArea*> areas_;
  int rank_ = 0;
};

// Everyone shows `mine`, and everyone calls read(member, data) for each member in order, itself included. The data is
// valid inside the call alone. REQUIRES: mine.size() <= kSmallBytes; members agree on how to read it.
template <class Read>
Task exchange(Channel& channel, std::span<const std::byte> mine, Read read) {
  const std::uint64_t round = channel.rounds++;
  std::copy(mine.begin(), mine.end(), channel.mine().small[round % 2].begin());
  channel.raise(channel.mine().published, round + 1);
  for (int member = 0; member < channel.size(); ++member) co_await reaches(channel.area(member).published, round + 1);
  for (int member = 0; member < channel.size(); ++member) read(member, channel.area(member).small[round % 2].data());
}

}  // namespace ronde::comm::detail
