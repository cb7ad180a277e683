#include "ronde/trace/record/thread_log.h"

namespace ronde::trace::detail {
namespace {

std::uint64_t text_bits(Name name) {
  return reinterpret_cast<std::uintptr_t>(name.text());
}

}  // namespace

bool ThreadLog::begin(Name name, Name category, std::span<const Arg> args) {
  if (!recording()) return false;
  const Slot slot{.name = name.text(), .bits = text_bits(category), .kind = Slot::Kind::Begin};
  const bool taken = ring_->begin(slot, args, [this] { return shared_.clock.now(); });
  wake_writer();
  return taken;
}

void ThreadLog::end(std::span<const Arg> args) {
  ring_->end(Slot{.time = shared_.clock.now(), .kind = Slot::Kind::End}, args);
}

void ThreadLog::instant(Name name, Name category, std::span<const Arg> args) {
  if (!recording()) return;
  event({.time = shared_.clock.now(), .name = name.text(), .bits = text_bits(category)}, args);
}

void ThreadLog::counter(Slot::Kind kind, Name name, std::uint64_t bits) {
  if (!recording()) return;
  event({.time = shared_.clock.now(), .name = name.text(), .bits = bits, .kind = kind}, {});
}

void ThreadLog::event(const Slot& slot, std::span<const Arg> args) {
  ring_->event(slot, args);
  wake_writer();
}

void ThreadLog::pair(const Slot& begin, const Slot& end, std::span<const Arg> args) {
  if (ring_->begin(begin, args, [&] { return begin.time; })) ring_->end(end, {});
  wake_writer();
}

}  // namespace ronde::trace::detail
