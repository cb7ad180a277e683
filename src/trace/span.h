#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "ronde/trace/name.h"
#include "ronde/trace/recorder.h"

namespace ronde::trace {

namespace detail {
// The log of this thread, set by Scope; none: nothing is recorded.
extern constinit thread_local ThreadLog* current_log;

bool begin_span(ThreadLog& log, Name name, Name category, std::initializer_list<Arg> args) noexcept;
void end_span(ThreadLog& log, std::initializer_list<Arg> args) noexcept;
void record_instant(ThreadLog& log, Name name, Name category, std::initializer_list<Arg> args) noexcept;
void record_counter(ThreadLog& log, Name name, std::int64_t value) noexcept;
void record_counter(ThreadLog& log, Name name, double value) noexcept;
std::size_t open_spans(const ThreadLog& log) noexcept;
}  // namespace detail

// While it lives, this thread records with `recorder`, on a track of the given name. Scopes nest: the inner one counts.
// A thread's events are written even when it has ended by then.
// REQUIRES: lives on the stack of one thread, ends after the spans inside it and before the recorder.
class Scope {
 public:
  Scope(Recorder& recorder, std::string_view thread_name) : Scope(&recorder, thread_name) {}
  Scope(Recorder* recorder, std::string_view thread_name);  // nullptr: nothing is recorded
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  detail::ThreadLog* const before_;
};

// A timed piece of work of this thread, from here to the end of the block. Costs under 50 ns when recorded, a few when
// not.
//
//   Span span("reduce", "comm", {{"bucket", 3}, {"bytes", bytes}});
//   ...
//   span.end({{"ratio", ratio}});  // earlier than the block's end, with what is known only now
class Span {
 public:
  explicit Span(Name name, Name category = {}, std::initializer_list<Arg> args = {}) noexcept {
    if (auto* log = detail::current_log; log && detail::begin_span(*log, name, category, args)) log_ = log;
  }
  ~Span() { end(); }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

  // Ends the span; the second time it does nothing. REQUIRES: the spans inside it have ended.
  void end(std::initializer_list<Arg> args = {}) noexcept {
    if (log_) detail::end_span(*log_, args);
    log_ = nullptr;
  }

 private:
  detail::ThreadLog* log_ = nullptr;  // none: not recorded
};

// How many recorded spans of this thread have not ended.
inline std::size_t open_spans() noexcept {
  return detail::current_log ? detail::open_spans(*detail::current_log) : 0;
}

// A moment of this thread.
inline void instant(Name name, Name category = {}, std::initializer_list<Arg> args = {}) noexcept {
  if (auto* log = detail::current_log) detail::record_instant(*log, name, category, args);
}

// The value that `name` has from now on; one row of the timeline a name, whichever thread it comes from.
template <std::integral T>
void counter(Name name, T value) noexcept {
  if (auto* log = detail::current_log) detail::record_counter(*log, name, static_cast<std::int64_t>(value));
}
inline void counter(Name name, double value) noexcept {
  if (auto* log = detail::current_log) detail::record_counter(*log, name, value);
}

}  // namespace ronde::trace

// RONDE_SPAN("mixup"); a span to the end of the block. Takes what Span takes.
#define RONDE_SPAN(...) const ::ronde::trace::Span RONDE_SPAN_NAME_(__LINE__)(__VA_ARGS__)
#define RONDE_SPAN_NAME_(line) RONDE_SPAN_JOIN_(ronde_span_, line)
#define RONDE_SPAN_JOIN_(a, b) a##b
