#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ronde/comm/link/segments.h"
#include "ronde/comm/link/task.h"
#include "ronde/comm/math/reduction.h"

namespace ronde::comm::detail {

struct GroupNote;

// What a link has sent in order to agree, so far.
struct Traffic {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
};

// What moves bytes between the members of one group. Two conversations go on at the same time: one in which members
// agree (control), one in which they move data. In each, all members do the same operations in the same order, one
// after the other. Nothing here blocks: operations are tasks. Buffers must stay until the task is done.
class Link {
 public:
  virtual ~Link() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  // Do all members share a node, so that they answer within microseconds?
  virtual bool near() const { return true; }

  // --- control
  // Has another member begun the next combine()? May be said late, but not never.
  virtual bool begun() const = 0;
  // Has another member begun it with 0 as its only word?
  virtual bool refused() const = 0;
  // Members that have not begun the combine() that is under way, or the next one; of other nodes as the answers to the
  // last ask_silent() tell, when all have come, and their leader if it has not answered twice.
  virtual std::vector<int> silent() const = 0;
  // Asks the other nodes who is silent there, and makes those look at what their programs have submitted. Returns how
  // many messages the busiest member sends if all ask once.
  virtual int ask_silent() { return 0; }
  // Makes their engines look at what their programs have submitted, if they are on this node.
  virtual void wake(const std::vector<int>& members) const = 0;
  // Each word becomes the minimum over all members. REQUIRES: at most kMostWords.
  // `summons`: members that have nothing under way are woken to take part; otherwise they come when they are ready.
  virtual Task combine(std::span<std::uint64_t> words, bool summons) = 0;
  Task combine(std::span<std::uint64_t> words) { return combine(words, false); }
  // Everyone's `bytes` become those of `from`. A combine() must come between two of them.
  virtual Task spread(std::string& bytes, int from) = 0;
  // Everyone gets everyone's `mine`, of which at most kSmallBytes are taken. Rare: who asked for what, who is missing.
  virtual Task tell(std::string mine, std::vector<std::string>& all) = 0;
  // A round of control, or a bucket, is done on this member; and how many are on another one, even if it has died
  // since.
  virtual void finish_round() = 0;
  virtual void finish_bucket() = 0;
  virtual std::uint64_t rounds_of(int member) const = 0;
  virtual std::uint64_t buckets_of(int member) const = 0;
  virtual Traffic traffic() const = 0;
  // A word about this group from a rank of another node.
  virtual void heard(int /*from*/, const GroupNote& /*said*/) {}
  // A member of another node has gone, after so many.
  virtual void left(int /*member*/, std::uint64_t /*rounds*/, std::uint64_t /*buckets*/) {}

  // --- data
  // Inside of this member.
  virtual void copy_here(Bytes to, ConstBytes from) {
    if (!from.empty()) std::memcpy(to.data(), from.data(), from.size());
  }
  // Ways in which this link can move data, by name; the first is its own choice for each size.
  virtual std::vector<std::string> algorithms() const { return {"auto"}; }
  // From the next operation on. FAILS WITH: System when there is no such one. REQUIRES: all members say it between the
  // same two operations.
  virtual void use_algorithm(std::size_t /*index*/) {}
  virtual Task allreduce(Segments data, math::Reduction reduction) = 0;
  virtual Task reduce(ConstBytes data, Bytes out, int root, math::Reduction reduction) = 0;
  virtual Task reduce_scatter(std::vector<ConstBytes> send, Bytes out, math::Reduction reduction) = 0;
  virtual Task broadcast(Bytes data, int root) = 0;
  virtual Task allgather(ConstBytes mine, std::vector<Bytes> out) = 0;
  virtual Task alltoall(std::vector<ConstBytes> send, std::vector<Bytes> out) = 0;
  virtual Task barrier() = 0;
  // Everyone gets everyone's words, as many from each.
  virtual Task share(std::vector<std::uint64_t> mine, std::vector<std::uint64_t>& all) = 0;
  // Everyone gets from each member the word that this one has for it. REQUIRES: `mine` has one for each member.
  virtual Task swap(std::vector<std::uint64_t> mine, std::vector<std::uint64_t>& theirs) {
    const auto members = static_cast<std::size_t>(size()), me = static_cast<std::size_t>(rank());
    std::vector<std::uint64_t> all;
    co_await share(std::move(mine), all);
    theirs.clear();
    for (std::size_t member = 0; member < members; ++member) theirs.push_back(all[member * members + me]);
  }

  static constexpr std::size_t kMostWords = 1024;
};

}  // namespace ronde::comm::detail
