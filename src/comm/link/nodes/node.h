#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ronde/base/system/clock.h"
#include "ronde/comm/link/shm/arena.h"
#include "ronde/comm/link/shm/mapping.h"

namespace ronde::comm::detail {

// The ranks of one machine, as one of them sees it. Each has an arena that all of them map, and a doorbell: a rank that
// finds nothing to do sleeps, and whoever changes something that it may wait for rings.
//
// Nobody misses a ring: the sleeper first says that it is asleep, then looks once more, then sleeps unless the bell has
// been rung since; the ringer first changes what it has to change, then looks whether anyone sleeps. A full fence on
// each side makes sure that at least one of the two sees the other.
class Node {
 public:
  // Ranks as threads of one process, for tests: one Node a rank.
  static std::vector<std::unique_ptr<Node>> for_threads(int ranks, std::size_t arena_bytes);
  // `arenas` by rank, the own one included; made by whoever connects the processes. Threads of one process share them,
  // at the same addresses, so that the thread sanitizer sees who touches what.
  using Arenas = std::vector<std::shared_ptr<const Mapping>>;
  Node(int rank, Arenas arenas);

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(arenas_.size()); }
  std::byte* base(int peer) const { return arenas_[static_cast<std::size_t>(peer)]->data(); }
  Arena& arena() { return arena_; }

  // Wakes those of the ranks that sleep in the middle of something: what they wait for may have come. Any thread may
  // call it.
  void ring(std::span<const int> peers) const { wake(peers, kWaiting); }
  // Wakes also those that have nothing under way: something begins.
  void summon(std::span<const int> peers) const { wake(peers, kIdle); }
  void summon_self() const { summon({&rank_, 1}); }
  // Called by whoever carries this rank's work: sleeps until rung, unless `anything_to_do` is true.
  template <class Look>
  void sleep(Look anything_to_do, Deadline until = {}) {
    const std::uint32_t rung = about_to_sleep();
    if (!anything_to_do()) sleep_since(rung, until);
    awake();
  }
  // The same in steps, for work that may pass to another thread: from about_to_sleep() on, rings are made and counted;
  // look once more; then sleep_since() what it gave. awake(): rings are not needed, somebody is looking.
  // Idle: nothing is under way, so only summons are worth being woken for.
  std::uint32_t about_to_sleep(bool idle = false) {
    const std::uint32_t rung = header(rank_).bell.load(std::memory_order_acquire);
    header(rank_).asleep.store(idle ? kIdle : kWaiting, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return rung;
  }
  void sleep_since(std::uint32_t rung, Deadline until) const;
  bool rung_since(std::uint32_t rung) const { return header(rank_).bell.load(std::memory_order_acquire) != rung; }
  void awake() { header(rank_).asleep.store(kAwake, std::memory_order_relaxed); }
  // Wakes the thread of this rank that sleeps, whatever it thinks of that.
  void wake_self() const;

 private:
  enum State : std::uint32_t { kAwake = 0, kWaiting = 1, kIdle = 2 };
  // Wakes who sleeps in a state up to this one.
  void wake(std::span<const int> peers, State deepest) const;

  // Lies at the start of every arena. Doorbells stand on lines of their own, for the others look at them all the time.
  struct Header {
    alignas(64) std::atomic<std::uint32_t> bell;
    alignas(64) std::atomic<std::uint32_t> asleep;
  };
  static_assert(std::atomic<std::uint32_t>::is_always_lock_free, "a lock would lie in one process only");

  Header& header(int peer) const { return *reinterpret_cast<Header*>(base(peer)); }

  int rank_;
  Arenas arenas_;
  Arena arena_;
};

}  // namespace ronde::comm::detail
