#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include "ronde/comm/link/link.h"
#include "ronde/comm/link/shm/channel.h"
#include "ronde/comm/link/shm/node.h"

namespace ronde::comm::detail {

// What a member shows of its part in agreeing. It alone writes here. Zeroed memory is a valid start.
//
// Up to kMostAtOnce members combine at once: everyone shows its words to all, and reads those of all. That is one
// meeting, where passing on takes one after the other; where ranks share cores, a meeting takes until each has had its
// turn. More members combine by passing on what they know: in step s, member m shows its words so far to member m +
// 2^s. After log2(size) steps everyone has heard of everyone. Each step has a buffer of its own, and two sets of them
// take turns: who begins a combine has heard of everyone in the one before, so nobody reads the one before that any
// more.
struct ControlArea {
  static constexpr int kMostAtOnce = 32;
  static constexpr std::size_t kSteps = 12;  // up to 4096 members

  alignas(64) std::atomic<std::uint64_t> shown;    // steps, over the life of the link
  std::array<std::uint64_t, 2> vote;               // a combine of one word: beside the count, to be read with it
  alignas(64) std::atomic<std::uint64_t> refused;  // the last combine that began with a 0, plus one
  alignas(64) std::atomic<std::uint64_t> rounds;   // rounds of control that are done
  alignas(64) std::atomic<std::uint64_t> buckets;  // buckets that are done
  std::array<std::array<std::array<std::uint64_t, Link::kMostWords>, kSteps>, 2> words;
};

// What a member of a group has in its arena for it.
struct GroupArea {
  ControlArea control;
  ChannelArea talk;  // spread() and tell()
  ChannelArea data;
};

// The link between ranks of one machine, or threads of one process: memory that all of them map.
class ShmLink final : public Link {
 public:
  // `members` are ranks of the node, in the group's order; `areas` where each one's GroupArea lies in its arena.
  ShmLink(Node& node, std::vector<int> members, std::span<const std::size_t> areas);

  int rank() const override { return data_.rank(); }
  int size() const override { return data_.size(); }

  bool begun() const override;
  bool refused() const override;
  std::vector<int> silent() const override;
  void wake(const std::vector<int>& members) const override;
  using Link::combine;
  Task combine(std::span<std::uint64_t> words, bool summons) override;
  // The same where a 0 is nothing to be shown to everyone.
  Task combine_quietly(std::span<std::uint64_t> words, bool summons = false);
  // Somebody outside has refused the combine that is under way, or the next one.
  void pass_on_refusal();
  Task spread(std::string& bytes, int from) override;
  Task tell(std::string mine, std::vector<std::string>& all) override;
  void finish_round() override;
  void finish_bucket() override;
  std::uint64_t rounds_of(int member) const override;
  std::uint64_t buckets_of(int member) const override;
  Traffic traffic() const override { return traffic_; }

  Task allreduce(Segments data, math::Reduction reduction) override;
  Task reduce(ConstBytes data, Bytes out, int root, math::Reduction reduction) override;
  Task reduce_scatter(std::vector<ConstBytes> send, Bytes out, math::Reduction reduction) override;
  Task broadcast(Bytes data, int root) override;
  Task allgather(ConstBytes mine, std::vector<Bytes> out) override;
  Task alltoall(std::vector<ConstBytes> send, std::vector<Bytes> out) override;
  Task barrier() override;
  Task share(std::vector<std::uint64_t> mine, std::vector<std::uint64_t>& all) override;

 private:
  bool at_once() const { return size() <= ControlArea::kMostAtOnce; }
  int before(int distance) const { return (rank() + size() - distance) % size(); }
  ControlArea& control(int member) const { return *control_[static_cast<std::size_t>(member)]; }
  Task combine_at_once(std::span<std::uint64_t> words, bool summons);
  Task combine_by_passing_on(std::span<std::uint64_t> words, bool summons);
  void show(int step, std::span<const std::uint64_t> words, bool summons);
  std::span<const std::uint64_t> shown_by(int member, int step, std::size_t count) const;
  std::span<std::uint64_t> room_for(int step, std::size_t count);
  void show_refusal();

  Channel talk_, data_;
  std::vector<ControlArea*> control_;  // by member
  std::vector<int> others_;            // of the node
  int steps_ = 0;                      // of a combine
  std::uint64_t combines_ = 0;
  std::uint64_t spread_buffer_ = 0;
  Traffic traffic_;
};

}  // namespace ronde::comm::detail
