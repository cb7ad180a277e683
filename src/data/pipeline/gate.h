#pragma once

#include <condition_variable>
#include <cstddef>
#include <optional>
#include <stop_token>
#include <utility>

#include "ronde/base/system/mutex.h"
#include "ronde/data/pipeline/memory/budget.h"

namespace ronde::data {

// Room for samples that come one after the other: of generators, and of the datasets inside zip, flat_map and
// interleave. What gathers them (a batch, a buffer) holds some while it asks for more, so waiting for room could be
// waiting for ever. Hence the rule: who comes in waits as long as anything is on its way out, or anyone who gathers is
// not asking for more; when all that is inside is held by those who ask, no room will ever come, and that is an error.
// Every gate has room of its own, and so has every dataset inside another: nobody waits for one that waits for him.
// Safe to call from any thread.
class Gate {
 public:
  // Room that a sample takes; it goes back when the place goes. Only moves; must not outlive the gate.
  class Place {
   public:
    Place() = default;
    Place(Place&& other) noexcept { swap(other); }
    Place& operator=(Place&& other) noexcept {
      swap(other);
      return *this;
    }
    ~Place() { release(); }

    explicit operator bool() const { return gate_ != nullptr; }
    void release() noexcept;
    // Whether or not there is room: for what is known only after it has been taken.
    void resize(std::size_t bytes) noexcept;
    // It is on its way out, and needs no room to get there.
    void pass() noexcept { set_kept(false); }
    // Who asks for more holds it.
    void keep() noexcept { set_kept(true); }
    // REQUIRES: both are kept, or one is none.
    void take(Place other) noexcept;

   private:
    friend class Gate;
    Place(Gate* gate, Budget::Reservation counted) : gate_(gate), counted_(std::move(counted)), kept_(true) {}
    void swap(Place& other) noexcept {
      std::swap(gate_, other.gate_);
      std::swap(counted_, other.counted_);
      std::swap(kept_, other.kept_);
    }
    void set_kept(bool kept) noexcept;

    Gate* gate_ = nullptr;
    Budget::Reservation counted_ = {};
    bool kept_ = false;
  };

  // While it lives, someone who gathers waits for more.
  class Asking {
   public:
    explicit Asking(Gate* gate) : gate_(gate) { tell(1); }
    ~Asking() { tell(-1); }
    Asking(const Asking&) = delete;
    Asking& operator=(const Asking&) = delete;

   private:
    void tell(int more) noexcept;
    Gate* const gate_;  // null: nobody wants to know
  };

  // `all`: where what is inside is counted as well.
  Gate(std::size_t limit, Budget& all) : limit_(limit), all_(all) {}
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  // Once for each that will be Asking.
  void add_gatherer();

  // Waits for room, as kept; nothing when it is stopped meanwhile. What is larger than all there is goes alone.
  // FAILS WITH: BadInput when there will never be room.
  std::optional<Place> enter(std::size_t bytes, const std::stop_token& stop);

  // What a step makes of a sample takes so much: so may the next ones.
  void expect(std::size_t bytes);

  std::size_t limit() const { return limit_; }

 private:
  const std::size_t limit_;
  Budget& all_;
  Mutex mutex_;
  std::condition_variable_any changed_;
  std::size_t used_ RONDE_GUARDED_BY(mutex_) = 0;  // bytes
  std::size_t kept_ RONDE_GUARDED_BY(mutex_) = 0;  // those of them that are held by who asks
  int gatherers_ RONDE_GUARDED_BY(mutex_) = 0;
  int asking_ RONDE_GUARDED_BY(mutex_) = 0;
  std::size_t most_each_ RONDE_GUARDED_BY(mutex_) = 0;
};

}  // namespace ronde::data
