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

  // Who sleeps for a rank: the engine's thread, or a thread of the program inside a call, which then does the work.
  enum class Sleeper : std::uint32_t { Engine = 1, Caller = 2 };

  // Wakes those of the ranks that sleep in the middle of something: what they wait for may have come. Any thread may
  // call it.
  void ring(std::span<const int> peers) const { wake(peers, &Header::for_rings); }
  // Wakes also those that have nothing under way: something begins.
  void summon(std::span<const int> peers) const { wake(peers, &Header::for_summons); }
  void summon_self() const { summon({&rank_, 1}); }
  // Called by whoever carries this rank's work: sleeps until rung, unless `anything_to_do` is true.
  template <class Look>
  void sleep(Look anything_to_do, Deadline until = {}) {
    const std::uint32_t rung = about_to_sleep();
    if (!anything_to_do()) sleep_since(rung, until);
    awake();
  }
  // The same in steps, for work that may pass to another thread: from about_to_sleep() on, rings are made and counted,
  // and wake `who`; look once more; then sleep_since() what it gave. awake(): rings are not needed, somebody is
  // looking. Idle: nothing is under way, so only summons are worth being woken for.
  std::uint32_t about_to_sleep(bool idle = false, Sleeper who = Sleeper::Engine) {
    const std::uint32_t rung = rings(who);
    show(header(rank_).for_summons, static_cast<std::uint32_t>(who));
    show(header(rank_).for_rings, idle ? 0 : static_cast<std::uint32_t>(who));
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return rung;
  }
  void sleep_since(std::uint32_t rung, Deadline until, Sleeper who = Sleeper::Engine) const;
  // How often this sleeper has been rung so far.
  std::uint32_t rings(Sleeper who = Sleeper::Engine) const {
    return bell(header(rank_), who).load(std::memory_order_acquire);
  }
  void awake() {
    show(header(rank_).for_summons, 0);
    show(header(rank_).for_rings, 0);
  }
  // Wakes a thread of this rank, whatever it thinks of that: this one; or the one that rings wake at the moment.
  void wake_self(Sleeper who) const;
  void wake_self() const;

 private:
  // Lies at the start of every arena. What others look at all the time stands on lines of its own, and is written only
  // when it changes: a program that calls again and again, and never sleeps, leaves `for_rings` alone, so that its
  // peers read that from their own caches.
  struct Header {
    alignas(64) std::atomic<std::uint32_t> engine_bell;
    alignas(64) std::atomic<std::uint32_t> caller_bell;
    alignas(64) std::atomic<std::uint32_t> for_rings;    // the Sleeper that rings wake; 0: nobody
    alignas(64) std::atomic<std::uint32_t> for_summons;  // likewise
  };
  static_assert(std::atomic<std::uint32_t>::is_always_lock_free, "a lock would lie in one process only");

  // Wakes who sleeps there, as one of the two words says.
  void wake(std::span<const int> peers, std::atomic<std::uint32_t> Header::*word) const;
  static void show(std::atomic<std::uint32_t>& word, std::uint32_t value) {
    if (word.load(std::memory_order_relaxed) != value) word.store(value, std::memory_order_relaxed);
  }
  static std::atomic<std::uint32_t>& bell(Header& header, Sleeper who) {
    return who == Sleeper::Caller ? header.caller_bell : header.engine_bell;
  }

  Header& header(int peer) const { return *reinterpret_cast<Header*>(base(peer)); }

  int rank_;
  Arenas arenas_;
  Arena arena_;
};

}  // namespace ronde::comm::detail
