#include "ronde/trace/file/drain.h"

#include <algorithm>

namespace ronde::trace::detail {
namespace {

constexpr std::size_t kChunk = 256 * 1024;  // bytes gathered before a write

template <class... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};
template <class... Fs>
Overloaded(Fs...) -> Overloaded<Fs...>;

}  // namespace

// Trace time is the wall clock as it was at the start, carried on by CLOCK_MONOTONIC: ranks of one machine agree to
// well under a microsecond, ranks of several as well as their wall clocks do, and a wall clock that is set does no
// harm.
Drain::Drain(LogBook& logs, Notes& notes, TickClock clock, const Options& options, Sink sink)
    : logs_(logs),
      notes_(notes),
      clock_(clock),
      sink_(std::move(sink)),
      base_(realtime_ns() - monotonic_ns()),
      line_(clock.sample()),
      packets_(text_, options.rank),
      filter_(options.filter) {
  packets_.process(options.process_name, options.pid);
  const std::int64_t now = monotonic_ns();
  packets_.clocks(now, trace_time(now), std::nullopt);
}

// The order matters. Whether a thread is done is read before how far it got, so that a log is given back only when it
// is read to its end. How far all threads got is read before the notes are taken: whoever recorded on a track had made
// it before, so its description is written first. The clock is sampled last: all ticks lie before the newest sample.
void Drain::run() {
  struct Part {
    ThreadLog* log;
    bool finished;
    std::uint64_t until;
  };
  std::vector<Part> parts;
  for (ThreadLog* log : logs_.snapshot()) {
    const bool finished = log->finished();
    parts.push_back({log, finished, log->ring().published()});
  }
  const std::vector<Note> notes = notes_.take();
  line_.add(clock_.sample());

  for (const Note& note : notes) write_note(note);
  for (const Part& part : parts) {
    drain_log(*part.log, part.until);
    if (!part.finished) continue;
    open_kept_.erase(part.log->label().track);
    logs_.remove(*part.log);
  }
  flush();
}

void Drain::write_note(const Note& note) {
  const std::int64_t now = trace_time(monotonic_ns());
  std::visit(Overloaded{[&](const NewTrack& track) { packets_.track(track.track, track.name); },
                        [&](const Metadata& data) { packets_.metadata(data.key, data.value, now); },
                        [&](const ClockOffset& at) {
                          packets_.clocks(at.local_ns, trace_time(at.local_ns), at.local_ns + at.offset_ns);
                          packets_.clock_offset(at.local_ns, at.offset_ns, trace_time(at.local_ns));
                        }},
             note);
}

void Drain::drain_log(ThreadLog& log, std::uint64_t until) {
  const auto& label = log.label();
  if (!log.progress.described && label.tid != 0) packets_.thread(label.track, label.name, label.tid);
  log.progress.described = true;
  Ring& ring = log.ring();
  Slot event;
  while (ring.consumed() < until) {
    const std::uint64_t next = ring.read(ring.consumed(), until, event, args_);
    write_event(log, event);
    ring.consume_to(next);
    if (text_.size() >= kChunk) flush();
  }
  write_drops(log);
}

void Drain::write_event(ThreadLog& log, const Slot& slot) {
  std::int64_t ns = static_cast<std::int64_t>(slot.time);
  if (!slot.explicit_time) {  // a thread's time never goes back, however the line through the samples has moved
    ns = std::max(line_.to_ns(slot.time), log.progress.last_ns);
    log.progress.last_ns = ns;
  }
  const std::uint32_t track = slot.track != 0 ? slot.track : log.label().track;
  if (is_kept(slot, track)) packets_.event(slot, args_, track, trace_time(ns));
}

// Spans of a track nest, so an end belongs to the last one that is open there, kept or not.
bool Drain::is_kept(const Slot& slot, std::uint32_t track) {
  const bool begins = slot.kind == Slot::Kind::Begin;
  if (filter_.keeps_all() || track == kStepTrack || (!begins && slot.kind != Slot::Kind::End)) return true;
  std::vector<bool>& open = open_kept_[track];
  if (begins) {
    const auto [known, is_new] = kept_names_.try_emplace(slot.name, true);
    if (is_new) known->second = filter_.keeps(slot.name);
    open.push_back(known->second);
    return known->second;
  }
  const bool kept = open.back();
  open.pop_back();
  return kept;
}

void Drain::write_drops(ThreadLog& log) {
  const std::uint64_t dropped = log.ring().dropped();
  if (dropped == log.progress.dropped) return;
  log.progress.dropped = dropped;
  packets_.dropped(log.label().tid != 0 ? std::optional(log.label().track) : std::nullopt, dropped,
                   trace_time(monotonic_ns()));
}

void Drain::flush() {
  sink_(text_);
  text_.clear();
}

}  // namespace ronde::trace::detail
