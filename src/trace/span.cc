#include "ronde/trace/span.h"

#include <bit>

#include "ronde/trace/record/thread_log.h"

namespace ronde::trace {
namespace detail {

constinit thread_local ThreadLog* current_log = nullptr;

namespace {

std::uint64_t text_bits(Name name) {
  return reinterpret_cast<std::uintptr_t>(name.text());
}

void counter(ThreadLog& log, Slot::Kind kind, Name name, std::uint64_t bits) {
  if (log.recording()) log.event({.time = log.now(), .name = name.text(), .bits = bits, .kind = kind}, {});
}

}  // namespace

bool begin_span(ThreadLog& log, Name name, Name category, std::initializer_list<Arg> args) noexcept {
  if (!log.recording()) return false;
  const Slot slot{.name = name.text(), .bits = text_bits(category), .kind = Slot::Kind::Begin};
  return log.begin(slot, {args.begin(), args.size()}, [&] { return log.now(); });
}

void end_span(ThreadLog& log, std::initializer_list<Arg> args) noexcept {
  log.end({.time = log.now(), .kind = Slot::Kind::End}, {args.begin(), args.size()});
}

void record_instant(ThreadLog& log, Name name, Name category, std::initializer_list<Arg> args) noexcept {
  if (!log.recording()) return;
  log.event({.time = log.now(), .name = name.text(), .bits = text_bits(category)}, {args.begin(), args.size()});
}

void record_counter(ThreadLog& log, Name name, std::int64_t value) noexcept {
  counter(log, Slot::Kind::CounterInt, name, static_cast<std::uint64_t>(value));
}

void record_counter(ThreadLog& log, Name name, double value) noexcept {
  counter(log, Slot::Kind::CounterDouble, name, std::bit_cast<std::uint64_t>(value));
}

std::size_t open_spans(const ThreadLog& log) noexcept {
  return log.open_spans();
}

}  // namespace detail

Scope::Scope(Recorder* recorder, std::string_view thread_name) : before_(detail::current_log) {
  detail::current_log = recorder ? &recorder->open_log(thread_name) : nullptr;
}

Scope::~Scope() {
  if (detail::current_log) detail::current_log->finish();
  detail::current_log = before_;
}

}  // namespace ronde::trace
