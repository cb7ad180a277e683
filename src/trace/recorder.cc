#include "ronde/trace/recorder.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <limits>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ronde/base/system/mutex.h"
#include "ronde/base/text/format.h"
#include "ronde/trace/file/writer.h"
#include "ronde/trace/record/log_book.h"
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
    const Lock lock(mutex_);
    if (switches_.size() == kMost) switches_.erase(switches_.begin());
    switches_.push_back({ns, on});
    last_ns_ = ns;
  }
  // Nobody asks for times before the first one in earnest: what is not known is taken as the state before the next.
  bool was_on(std::int64_t ns, const std::atomic<bool>& now) const {
    const bool on = now;  // first: it changes after last_ns_ has
    if (ns >= last_ns_) return on;
    const Lock lock(mutex_);
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
  mutable Mutex mutex_;
  std::vector<Switch> switches_ RONDE_GUARDED_BY(mutex_);  // each the opposite of the one before
};

Slot timed(Slot::Kind kind, std::uint32_t track, Name name, std::int64_t ns) {
  return {
      .time = static_cast<std::uint64_t>(ns), .name = name.text(), .track = track, .kind = kind, .explicit_time = true};
}

}  // namespace

struct Recorder::Impl {
  explicit Impl(RecorderOptions given);
  ~Impl() {
    const Lock lock(control);
    end_step();
  }

  // Recording is on when it was started, its window is open, and nothing has failed.
  bool wanted() const RONDE_REQUIRES(control) { return started && window_open && !failed; }
  void update_switch() RONDE_REQUIRES(control);
  void begin_step(std::int64_t n) RONDE_REQUIRES(control);
  void end_step() RONDE_REQUIRES(control);
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

  Mutex common_mutex;
  detail::ThreadLog& common RONDE_GUARDED_BY(common_mutex){logs.open({.name = "recorder"})};

  Mutex control;
  bool started RONDE_GUARDED_BY(control) = options.started;
  bool window_open RONDE_GUARDED_BY(control) = options.steps.open_before_first_step();
  bool failed RONDE_GUARDED_BY(control) = false;
  bool step_open RONDE_GUARDED_BY(control) = false;
  std::function<void(bool)> listener RONDE_GUARDED_BY(control);

  Mutex names_mutex;
  std::unordered_set<std::string> names RONDE_GUARDED_BY(names_mutex);  // its texts stay where they are

  detail::Writer writer;  // last: its thread uses all of the above
};

Recorder::Impl::Impl(RecorderOptions given)
    : options(std::move(given)), writer(path, {logs, notes, wake, clock}, drain_options(options), [this] {
        const Lock lock(control);
        failed = true;
        update_switch();
      }) {
  notes.add(detail::NewTrack{kStepTrack, "steps"});
  notes.add(detail::Metadata{"rank", std::to_string(options.rank)});
  notes.add(detail::Metadata{"world_size", std::to_string(options.world_size)});
  notes.add(detail::Metadata{"host", options.host});
  notes.add(detail::Metadata{"pid", std::to_string(::getpid())});
  notes.add(detail::Metadata{"clock", clock.name()});
  const Lock lock(control);
  recording = wanted();  // no switch: what began earlier counts too
}

void Recorder::Impl::update_switch() {
  const bool on = wanted();
  if (on == recording) return;
  history.add(detail::monotonic_ns(), on);
  recording = on;
  if (listener) listener(on);
}

template <class Record>
void Recorder::Impl::with_log(Record&& record) {
  if (auto* log = detail::current_log; log && log->belongs_to(recording)) return record(*log);
  const Lock lock(common_mutex);
  record(common);
}

void Recorder::Impl::begin_step(std::int64_t n) {
  const Lock lock(common_mutex);
  const Slot slot = timed(Slot::Kind::Begin, kStepTrack, "step", detail::monotonic_ns());
  const Arg number("step", n);
  step_open = common.ring().begin(slot, {&number, 1}, [&] { return slot.time; });
}

void Recorder::Impl::end_step() {
  if (!std::exchange(step_open, false)) return;
  const Lock lock(common_mutex);
  common.ring().end(timed(Slot::Kind::End, kStepTrack, {}, detail::monotonic_ns()), {});
}

Recorder::Recorder(RecorderOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Recorder::~Recorder() = default;

void Recorder::start() {
  const Lock lock(impl_->control);
  impl_->started = true;
  impl_->update_switch();
}

void Recorder::stop() {
  const Lock lock(impl_->control);
  impl_->started = false;
  impl_->end_step();
  impl_->update_switch();
}

bool Recorder::recording() const {
  return impl_->recording;
}

void Recorder::on_switch(std::function<void(bool recording)> listener) {
  const Lock lock(impl_->control);
  impl_->listener = std::move(listener);
}

void Recorder::step(std::int64_t n) {
  const Lock lock(impl_->control);
  impl_->end_step();
  impl_->window_open = impl_->options.steps.contains(n);
  if (impl_->wanted()) impl_->begin_step(n);
  impl_->update_switch();
}

void Recorder::end_step() {
  const Lock lock(impl_->control);
  impl_->end_step();
}

Name Recorder::intern(std::string_view text) {
  const Lock lock(impl_->names_mutex);
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
