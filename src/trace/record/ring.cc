#include "ronde/trace/record/ring.h"

namespace ronde::trace::detail {
namespace {

Slot event_of(const Cell& cell) {
  const bool explicit_time = cell.kind() >= static_cast<unsigned>(Cell::Kind::ExplicitEvent);
  const auto kind = cell.kind() - static_cast<unsigned>(explicit_time ? Cell::Kind::ExplicitEvent : Cell::Kind::Event);
  Slot slot{.time = cell.payload(), .kind = static_cast<Slot::Kind>(kind), .explicit_time = explicit_time};
  if (slot.kind == Slot::Kind::End)
    slot.track = static_cast<std::uint32_t>(cell.word);
  else
    slot.name = text_of(cell.word);
  return slot;
}

Slot argument_of(const Cell& cell) {
  const auto kind = cell.kind() - static_cast<unsigned>(Cell::Kind::Argument);
  return {.name = text_of(cell.payload()),
          .bits = cell.word,
          .kind = Slot::Kind::Argument,
          .arg_kind = static_cast<Arg::Kind>(kind)};
}

// The first wake-up of a ring that drops everything would never be due; any number beyond reach will do.
std::uint64_t first_wake(std::size_t capacity) {
  return capacity == 0 ? ~std::uint64_t{0} : capacity / 2;
}

}  // namespace

// The cells stay untouched until used, so that a ring takes no more memory than its thread fills.
Ring::Ring(std::size_t capacity)
    : capacity_(capacity),
      mask_(capacity == 0 ? 0 : capacity - 1),
      cells_(std::make_unique_for_overwrite<Cell[]>(capacity)),
      wake_at_(first_wake(capacity)) {}

std::uint64_t Ring::read(std::uint64_t index, std::uint64_t until, Slot& event, std::vector<Slot>& args) const {
  event = event_of(cells_[index++ & mask_]);
  args.clear();
  for (; index < until; ++index) {
    const Cell& cell = cells_[index & mask_];
    if (cell.kind() < static_cast<unsigned>(Cell::Kind::More)) break;  // the next event
    if (cell.kind() > static_cast<unsigned>(Cell::Kind::More)) {
      args.push_back(argument_of(cell));
    } else {
      event.track = static_cast<std::uint32_t>(cell.payload());
      event.bits = cell.word;
    }
  }
  return index;
}

bool Ring::half_full() {
  const std::uint64_t head = head_.load(std::memory_order_relaxed);
  known_tail_ = tail_.load(std::memory_order_acquire);
  const bool due = head - known_tail_ >= capacity_ / 2;
  wake_at_ = (due ? head : known_tail_) + capacity_ / 2;
  return due;
}

void Ring::reset() {
  head_.store(0, std::memory_order_relaxed);
  tail_.store(0, std::memory_order_relaxed);
  dropped_.store(0, std::memory_order_relaxed);
  open_ = 0;
  known_tail_ = 0;
  wake_at_ = first_wake(capacity_);
}

}  // namespace ronde::trace::detail
