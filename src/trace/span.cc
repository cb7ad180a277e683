#include "ronde/trace/span.h"

#include <bit>

#include "ronde/trace/record/thread_log.h"

namespace ronde::trace {
namespace detail {

constinit thread_local ThreadLog* current_log = nullptr;

bool begin_span(ThreadLog& log, Name name, Name category, std::initializer_list<Arg> args) noexcept {
  return log.begin(name, category, {args.begin(), args.size()});
}

void end_span(ThreadLog& log, std::initializer_list<Arg> args) noexcept {
  log.end({args.begin(), args.size()});
}

void record_instant(ThreadLog& log, Name name, Name category, std::initializer_list<Arg> args) noexcept {
  log.instant(name, category, {args.begin(), args.size()});
}

void record_counter(ThreadLog& log, Name name, std::int64_t value) noexcept {
  log.counter(Slot::Kind::CounterInt, name, static_cast<std::uint64_t>(value));
}

void record_counter(ThreadLog& log, Name name, double value) noexcept {
  log.counter(Slot::Kind::CounterDouble, name, std::bit_cast<std::uint64_t>(value));
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
