#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ronde/trace/name.h"

namespace ronde::trace::detail {

// Texts travel as the bits of their address.
inline const char* text_of(std::uint64_t bits) {
  return reinterpret_cast<const char*>(static_cast<std::uintptr_t>(bits));
}

// One event as the producer gives it and the consumer gets it; or one argument of an event, as the consumer gets it.
struct Slot {
  enum class Kind : std::uint8_t { Begin, End, Instant, CounterInt, CounterDouble, Argument };

  std::uint64_t time = 0;      // ticks, or nanoseconds when explicit_time
  const char* name = nullptr;  // of the event (an End has none), or the argument's key
  std::uint64_t bits = 0;      // Begin, Instant: the category's text; counters and arguments: the value
  std::uint32_t track = 0;     // 0: the track of the thread that the ring belongs to
  Kind kind = Kind::Instant;
  Arg::Kind arg_kind = Arg::Kind::Int;
  bool explicit_time = false;
};

// How an event lies in the ring: one cell, one more when it has a category, value or track, and one for each argument.
// Small, because memory that another core has read last is what costs most to write: a plain span takes 32 bytes.
// 60 bits hold any time (14 years of ticks at 2.6 GHz) and any address that Linux gives to a program.
struct Cell {
  enum class Kind : std::uint8_t {
    Event,              // + Slot::Kind: a time in ticks, and the name (End: the track)
    ExplicitEvent = 5,  // + Slot::Kind: the same with nanoseconds
    More = 10,          // the track, and the category or value
    Argument = 11,      // + Arg::Kind: the key, and the value
  };
  std::uint64_t kind_and_payload;
  std::uint64_t word;

  static constexpr int kShift = 60;
  static constexpr std::uint64_t kPayload = (std::uint64_t{1} << kShift) - 1;
  static Cell make(unsigned kind, std::uint64_t payload, std::uint64_t word) {
    return {std::uint64_t{kind} << kShift | (payload & kPayload), word};
  }
  unsigned kind() const { return static_cast<unsigned>(kind_and_payload >> kShift); }
  std::uint64_t payload() const { return kind_and_payload & kPayload; }
};
static_assert(sizeof(Cell) == 16);

// A ring of cells between one producer (the thread that records) and one consumer (the writer). Fixed memory, no lock,
// nobody waits: what does not fit is dropped and counted.
//
// Invariants
//  1. tail_ <= head_ <= tail_ + capacity; both only grow. Cell i lives in cells_[i & mask_].
//  2. Cells [tail_, head_) belong to the consumer, all others to the producer. head_ is stored by the producer alone
//     (release, after the cells are written); tail_ by the consumer alone (release, after the cells are read).
//  3. An event and its arguments are published by one store of head_: the consumer never sees half an event.
//  4. open_ Begins are published whose End is not. An End takes one cell, and open_ cells are always free: a Begin or
//     other event is taken only if that many (one more for a Begin) stay free. So an End always fits, and the spans
//     that are recorded nest properly however many others were dropped.
//  5. dropped_ is stored by the producer alone, so counting needs no read-modify-write.
//  open_, known_tail_ and wake_at_ are the producer's own.
class Ring {
 public:
  // REQUIRES: capacity is a power of two, or 0 for a ring that drops everything.
  explicit Ring(std::size_t capacity);

  // --- the producer
  // `stamp` gives the time; it is called as late as possible.
  template <class Stamp>
  bool begin(Slot slot, std::span<const Arg> args, Stamp&& stamp) {
    if (!room_for(cells_of(slot) + args.size() + open_ + 1)) return drop();
    ++open_;
    slot.time = stamp();
    publish(slot, args);
    return true;
  }
  // REQUIRES: a begin() that returned true and has not ended. Arguments that do not fit are left out.
  void end(const Slot& slot, std::span<const Arg> args) {
    --open_;
    publish(slot, room_for(1 + args.size() + open_) ? args : std::span<const Arg>());
  }
  bool event(const Slot& slot, std::span<const Arg> args) {
    if (!room_for(cells_of(slot) + args.size() + open_)) return drop();
    publish(slot, args);
    return true;
  }
  std::uint64_t open() const { return open_; }  // spans that have begun
  // True once each time that half the ring has filled: the moment to wake the consumer.
  bool wants_wake() {
    if (head_.load(std::memory_order_relaxed) < wake_at_) [[likely]]
      return false;
    return half_full();
  }

  // --- the consumer
  // Everything published before the call.
  std::uint64_t published() const { return head_.load(std::memory_order_acquire); }
  std::uint64_t consumed() const { return tail_.load(std::memory_order_relaxed); }
  // The event at `index`, and the index of the one after it. REQUIRES: consumed() <= index < until <= published().
  std::uint64_t read(std::uint64_t index, std::uint64_t until, Slot& event, std::vector<Slot>& args) const;
  void consume_to(std::uint64_t index) { tail_.store(index, std::memory_order_release); }

  // --- anyone
  std::uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }
  std::size_t capacity() const { return capacity_; }

  // Makes a used ring as good as new. REQUIRES: neither producer nor consumer is at work.
  void reset();

 private:
  static bool has_more(const Slot& slot) { return slot.kind != Slot::Kind::End && (slot.bits != 0 || slot.track != 0); }
  static std::size_t cells_of(const Slot& slot) { return has_more(slot) ? 2 : 1; }
  bool room_for(std::size_t cells) {
    const std::uint64_t needed = head_.load(std::memory_order_relaxed) + cells;
    if (needed <= known_tail_ + capacity_) [[likely]]
      return true;
    known_tail_ = tail_.load(std::memory_order_acquire);
    return needed <= known_tail_ + capacity_;
  }
  bool drop() {
    dropped_.store(dropped_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    return false;
  }
  // Here and inline: a slot that went through memory on its way to the ring would double what a span costs.
  void publish(const Slot& slot, std::span<const Arg> args) {
    std::uint64_t head = head_.load(std::memory_order_relaxed);
    const auto kind = static_cast<unsigned>(slot.explicit_time ? Cell::Kind::ExplicitEvent : Cell::Kind::Event) +
                      static_cast<unsigned>(slot.kind);
    const std::uint64_t word = slot.kind == Slot::Kind::End ? slot.track : reinterpret_cast<std::uintptr_t>(slot.name);
    cells_[head++ & mask_] = Cell::make(kind, slot.time, word);
    if (has_more(slot))
      cells_[head++ & mask_] = Cell::make(static_cast<unsigned>(Cell::Kind::More), slot.track, slot.bits);
    for (const Arg& arg : args) {
      const auto arg_kind = static_cast<unsigned>(Cell::Kind::Argument) + static_cast<unsigned>(arg.kind());
      cells_[head++ & mask_] = Cell::make(arg_kind, reinterpret_cast<std::uintptr_t>(arg.key()), arg.bits());
    }
    head_.store(head, std::memory_order_release);
  }
  bool half_full();

  const std::size_t capacity_;
  const std::uint64_t mask_;
  const std::unique_ptr<Cell[]> cells_;

  alignas(64) std::atomic<std::uint64_t> head_{0};
  std::atomic<std::uint64_t> dropped_{0};
  std::uint64_t open_ = 0;
  std::uint64_t known_tail_ = 0;
  std::uint64_t wake_at_;
  alignas(64) std::atomic<std::uint64_t> tail_{0};
};

}  // namespace ronde::trace::detail
