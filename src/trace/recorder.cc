#include "ronde/trace/recorder.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <limits>
#include <mutex>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ronde/base/text/format.h"
#include "ronde/trace/file/writer.h"
#include "ronde/trace/record/thread_log.h"
#include "ronde/trace/record/wake.h"
#include "ronde/trace/span.h"

namespace ronde::trace {
namespace {

using detail::kStepTrack;
using detail::Slot;

std::filesystem::path file_of(const RecorderOptions& options) {
  if (options.rank < 0) throw Error::bad_input("rank of a trace must be at least 0, got {}", options.rank);
  if (!options.file.empty()) return options.file;
  if (options.folder.empty()) throw Error::bad_input("the trace of rank {} has neither folder nor file", options.rank);
  return options.folder / fmt::format("trace-{:05}.perfetto-trace", options.rank);
}

detail::Drain::Options drain_options(const RecorderOptions& options) {
  const std::string host = options.host.empty() ? "" : fmt::format(" ({})", options.host);
  return {options.rank, fmt::format("rank {}{}", options.rank, host), ::getpid(), detail::SpanFilter(options.filter)};
}

// When recording was switched, so that it is known afterwards whether it was on. Safe from any thread.
class SwitchHistory {
 public:
  // REQUIRES: times do not go back, and the writes of one thread only at a time.
  void add(std::int64_t ns, bool on) {
    const std::lock_guard lock(mutex_);
    if (switches_.size() == kMost) switches_.erase(switches_.begin());
    switches_.push_back({ns, on});
    last_ns_ = ns;
  }
  // Nobody asks for times before the first one in earnest: what is not known is taken as the state before the next.
  bool was_on(std::int64_t ns, const std::atomic<bool>& now) const {
    const bool on = now;  // first: it changes after last_ns_ has
    if (ns >= last_ns_) return on;
    const std::lock_guard lock(mutex_);
    const auto next = std::ranges::upper_bound(switches_, ns, {}, &Switch::ns);
    return next == switches_.end() ? switches_.back().on : !next->on;
  }

 private:
  struct Switch {
    std::int64_t ns;
    bool on;  // from then on
  };
  static constexpr std::size_t kMost = 64;

  std::atomic<std::int64_t> last_ns_{std::numeric_limits<std::int64_t>::min()};
  mutable std::mutex mutex_;
  std::vector<Switch> switches_;  // guarded by mutex_; each the opposite of the one before
};

Slot timed(Slot::Kind kind, std::uint32_t track, Name name, std::int64_t ns) {
  return {
      .time = static_cast<std::uint64_t>(ns), .name = name.text(), .track = track, .kind = kind, .explicit_time = true};
}

}  // namespace

struct Recorder::Impl {
  explicit Impl(RecorderOptions given);
  ~Impl() { end_step(); }

  template <class Change>
  void change_switch(Change&& change);
  void end_step();
  void begin_step_locked(std::int64_t n);
  void end_step_locked();
  // Runs `record` with a log that this thread may use: its own, or the common one under its lock.
  template <class Record>
  void with_log(Record&& record);

  const RecorderOptions options;
  const std::filesystem::path path = file_of(options);
  const detail::TickClock clock = detail::TickClock::best();
  detail::Wake wake;
  detail::Notes notes;
  std::atomic<bool> recording{false};
  SwitchHistory history;
  std::atomic<std::uint32_t> next_track{kStepTrack + 1};
  detail::LogBook logs{{recording, clock, wake}, options.bytes};

  std::mutex common_mutex;  // guards what is recorded with `common`
  detail::ThreadLog& common{logs.open({.name = "recorder"})};

  std::mutex control;  // guards the switches: recording is on when the first two are and the third is not
  bool started = options.started;
  bool window_open = options.steps.open_before_first_step();
  bool failed = false;
  bool step_open = false;
  std::function<void(bool)> listener;

  std::mutex names_mutex;
  std::unordered_set<std::string> names;  // its texts stay where they are

  detail::Writer writer;  // last: its thread uses all of the above
};

Recorder::Impl::Impl(RecorderOptions given)
    : options(std::move(given)), writer(path, {logs, notes, wake, clock}, drain_options(options), [this] {
        change_switch([this] { failed = true; });
      }) {
  notes.add(detail::NewTrack{kStepTrack, "steps"});
  notes.add(detail::Metadata{"rank", std::to_string(options.rank)});
  notes.add(detail::Metadata{"world_size", std::to_string(options.world_size)});
  notes.add(detail::Metadata{"host", options.host});
  notes.add(detail::Metadata{"pid", std::to_string(::getpid())});
  notes.add(detail::Metadata{"clock", clock.name()});
  const std::lock_guard lock(control);
  recording = started && window_open && !failed;  // no switch: what began earlier counts too
}

template <class Change>
void Recorder::Impl::change_switch(Change&& change) {
  const std::lock_guard lock(control);
  change();
  const bool on = started && window_open && !failed;
  if (on == recording) return;
  history.add(detail::monotonic_ns(), on);
  recording = on;
  if (listener) listener(on);
}

void Recorder::Impl::end_step() {
  const std::lock_guard lock(control);
  end_step_locked();
}

template <class Record>
void Recorder::Impl::with_log(Record&& record) {
  if (auto* log = detail::current_log; log && log->belongs_to(recording)) return record(*log);
  const std::lock_guard lock(common_mutex);
  record(common);
}

void Recorder::Impl::begin_step_locked(std::int64_t n) {
  const std::lock_guard lock(common_mutex);
  const Slot slot = timed(Slot::Kind::Begin, kStepTrack, "step", detail::monotonic_ns());
  const Arg number("step", n);
  step_open = common.ring().begin(slot, {&number, 1}, [&] { return slot.time; });
}

void Recorder::Impl::end_step_locked() {
  if (!std::exchange(step_open, false)) return;
  const std::lock_guard lock(common_mutex);
  common.ring().end(timed(Slot::Kind::End, kStepTrack, {}, detail::monotonic_ns()), {});
}

Recorder::Recorder(RecorderOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Recorder::~Recorder() = default;

void Recorder::start() {
  impl_->change_switch([this] { impl_->started = true; });
}

void Recorder::stop() {
  impl_->change_switch([this] {
    impl_->started = false;
    impl_->end_step_locked();
  });
}

bool Recorder::recording() const {
  return impl_->recording;
}

void Recorder::on_switch(std::function<void(bool recording)> listener) {
  const std::lock_guard lock(impl_->control);
  impl_->listener = std::move(listener);
}

void Recorder::step(std::int64_t n) {
  impl_->change_switch([&] {
    impl_->end_step_locked();
    impl_->window_open = impl_->options.steps.contains(n);
    if (impl_->started && impl_->window_open && !impl_->failed) impl_->begin_step_locked(n);
  });
}

void Recorder::end_step() {
  impl_->end_step();
}

Name Recorder::intern(std::string_view text) {
  const std::lock_guard lock(impl_->names_mutex);
  return {impl_->names.emplace(text).first->c_str(), Name::Kept{}};
}

Track Recorder::track(std::string_view name) {
  const std::uint32_t id = impl_->next_track++;
  impl_->notes.add(detail::NewTrack{id, std::string(name)});
  return Track(id);
}

void Recorder::span(Track track, const TimedSpan& span, std::initializer_list<Arg> args) {
  if (!impl_->history.was_on(span.begin_ns, impl_->recording)) return;
  Slot begin = timed(Slot::Kind::Begin, track.id_, span.name, span.begin_ns);
  begin.bits = reinterpret_cast<std::uintptr_t>(span.category.text());
  const Slot end = timed(Slot::Kind::End, track.id_, {}, span.end_ns);
  impl_->with_log([&](detail::ThreadLog& log) { log.pair(begin, end, {args.begin(), args.size()}); });
}

void Recorder::counter(Name name, double value, std::int64_t at_ns) {
  if (!impl_->recording) return;
  Slot slot = timed(Slot::Kind::CounterDouble, 0, name, at_ns);
  slot.bits = std::bit_cast<std::uint64_t>(value);
  impl_->with_log([&](detail::ThreadLog& log) { log.event(slot, {}); });
}

void Recorder::set_metadata(std::string_view key, std::string_view value) {
  impl_->notes.add(detail::Metadata{std::string(key), std::string(value)});
}

void Recorder::set_clock_offset(std::int64_t local_ns, std::int64_t offset_ns) {
  impl_->notes.add(detail::ClockOffset{local_ns, offset_ns});
}

void Recorder::flush() {
  impl_->writer.flush();
}

std::uint64_t Recorder::dropped() const {
  return impl_->logs.dropped();
}

std::optional<Error> Recorder::error() const {
  return impl_->writer.error();
}

const std::filesystem::path& Recorder::file() const {
  return impl_->path;
}

detail::ThreadLog& Recorder::open_log(std::string_view thread_name) {
  return impl_->logs.open({.name = std::string(thread_name), .tid = ::gettid(), .track = impl_->next_track++});
}

}  // namespace ronde::trace
