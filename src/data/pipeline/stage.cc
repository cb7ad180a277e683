#include "ronde/data/pipeline/stage.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "ronde/base/system/clock.h"
#include "ronde/base/system/thread.h"
#include "ronde/trace/span.h"
#include "ronde/trace/span_names.h"

namespace ronde::data {
namespace {

constexpr int kNicer = 5;  // than training: input is prepared in the time that training leaves

void add(std::atomic<std::int64_t>& sum, std::chrono::nanoseconds time) {
  sum.fetch_add(time.count(), std::memory_order_relaxed);
}

std::chrono::nanoseconds read(const std::atomic<std::int64_t>& sum) {
  return std::chrono::nanoseconds(sum.load(std::memory_order_relaxed));
}

std::int64_t bytes_in(const Run& run) {
  std::size_t bytes = 0;
  for (const Item& item : run.items) {
    const bool in_place = item.sample.empty() && run.group && run.group->batch;
    bytes += in_place ? run.group->facts.kind.bytes() : item.sample.bytes();
  }
  return static_cast<std::int64_t>(bytes);
}

}  // namespace

Stage::Stage(StageOptions options, std::unique_ptr<Stream> from, Work work, std::stop_token stop)
    : options_(std::move(options)),
      from_(std::move(from)),
      work_(std::move(work)),
      stop_(std::move(stop)),
      span_(options_.recorder ? options_.recorder->intern(options_.name) : trace::Name("input")),
      room_(std::max<std::size_t>(options_.room, 1)) {}

void Stage::start() {
  set_threads(options_.threads);
}

Stage::~Stage() = default;  // its threads are joined: `stop` was asked for

void Stage::set_threads(int threads) {
  {
    const Lock lock(mutex_);
    threads_ = std::max(threads, 1);
    try {
      while (static_cast<int>(pool_.size()) < threads_ && !stop_.stop_requested())
        pool_.emplace_back([this, number = static_cast<int>(pool_.size())] { serve(number); });
    } catch (const std::system_error&) {  // no more threads for this user: those that there are do it all
      if (pool_.empty()) throw;
      threads_ = static_cast<int>(pool_.size());
    }
  }
  allotted_.notify_all();
}

void Stage::set_room(std::size_t room) {
  {
    const Lock lock(mutex_);
    room_ = std::max<std::size_t>(room, 1);
  }
  emptied_.notify_all();
}

void Stage::serve(int number) {
  name_this_thread("ronde " + options_.name);
  const auto thread = static_cast<id_t>(::gettid());
  ::setpriority(PRIO_PROCESS, thread, std::min(::getpriority(PRIO_PROCESS, thread) + kNicer, 19));
  const trace::Scope scope(options_.recorder, "input " + options_.name);
  while (true) {
    {
      Lock lock(mutex_);
      const auto wanted = [&]() RONDE_REQUIRES(mutex_) { return ended_ || number < threads_; };
      if ((!wanted() && !allotted_.wait(lock, stop_, wanted)) || ended_) return;
    }
    auto taken = take();
    if (!taken || stop_.stop_requested()) return;  // who is being stopped hands on samples that were not read
    work_on(std::move(*taken));
  }
}

// Only one thread is inside at a time: so runs get their tickets in the order in which they come.
std::optional<Stage::Taken> Stage::take() {
  const auto since = monotonic_now();
  const Lock turn(input_);
  add(for_room_ ? sums_.room : sums_.input, monotonic_now() - since);
  for_room_ = true;
  if (!wait_for_room()) return {};
  for_room_ = false;
  auto run = pull();
  if (!run) return {};
  const Lock lock(mutex_);
  slots_.emplace_back();
  return Taken{given_ + slots_.size() - 1, std::move(*run)};
}

bool Stage::wait_for_room() {
  const auto since = monotonic_now();
  Lock lock(mutex_);
  if (!ended_ && slots_.size() >= room_) {
    const trace::Span span(trace::span_names::kWaitForRoom, "input");
    // Who is woken for every run that is taken works on one and sleeps again: all that waking takes longer than the
    // reading of a small file.
    was_full_ = true;
    const auto free = [this]() RONDE_REQUIRES(mutex_) { return ended_ || slots_.size() <= room_ / 2; };
    if (!emptied_.wait(lock, stop_, free)) return false;
    was_full_ = false;
  }
  add(sums_.room, monotonic_now() - since);
  return !ended_;
}

std::optional<Run> Stage::pull() {
  const auto since = monotonic_now(), before = from_->waited_for_room();
  std::optional<Run> run;
  std::exception_ptr failure;
  try {
    run = from_->next();
  } catch (...) {
    failure = std::current_exception();
  }
  const auto for_room = from_->waited_for_room() - before;
  for_room_ = for_room.count() > 0;
  add(sums_.room, for_room);
  add(sums_.input, monotonic_now() - since - for_room);
  if (run) return run;
  {
    const Lock lock(mutex_);
    ended_ = true;
    if (failure) slots_.push_back({.done = true, .failure = failure});
  }
  filled_.notify_all();
  allotted_.notify_all();
  return {};
}

void Stage::work_on(Taken taken) {
  const auto since = monotonic_now();
  Slot slot{.done = true, .run = std::move(taken.run)};
  try {
    const trace::Span span(span_, "input", {{"samples", slot.run.size()}});
    work_(slot.run);
  } catch (...) {
    slot.failure = std::current_exception();
  }
  add(sums_.busy, monotonic_now() - since);
  sums_.runs.fetch_add(1, std::memory_order_relaxed);
  sums_.samples.fetch_add(slot.run.size(), std::memory_order_relaxed);
  sums_.bytes.fetch_add(bytes_in(slot.run), std::memory_order_relaxed);
  finish(taken.ticket, std::move(slot));
}

void Stage::finish(std::uint64_t ticket, Slot slot) {
  {
    const Lock lock(mutex_);
    if (slot.failure) ended_ = true;
    if (options_.ordered)
      slots_[ticket - given_] = std::move(slot);
    else
      *std::ranges::find(slots_, false, &Slot::done) = std::move(slot);
    if (!ready()) return;
  }
  filled_.notify_all();
}

// Whether next() need not wait.
bool Stage::ready() const {
  if (slots_.empty()) return ended_;
  if (!options_.whole_batches || within_batch_) return slots_.front().done;
  for (const Slot& slot : slots_) {
    if (!slot.done) return false;
    if (slot.run.closes || slot.failure) return true;
  }
  return ended_;
}

std::optional<Run> Stage::next() {
  if (failure_) std::rethrow_exception(failure_);
  Lock lock(mutex_);
  if ((!ready() && !filled_.wait(lock, stop_, [this]() RONDE_REQUIRES(mutex_) { return ready(); })) || slots_.empty())
    return {};
  Slot slot = std::move(slots_.front());
  slots_.pop_front();
  ++given_;
  within_batch_ = !slot.run.closes;
  const bool wake = was_full_ && slots_.size() <= room_ / 2;
  lock.unlock();
  if (wake) emptied_.notify_one();
  failure_ = slot.failure;
  if (failure_) std::rethrow_exception(failure_);
  return std::move(slot.run);
}

StageStats Stage::stats() const {
  const Lock lock(mutex_);
  return {.name = options_.name,
          .threads = threads_,
          .waits = options_.waits,
          .busy = read(sums_.busy),
          .input = read(sums_.input),
          .room = read(sums_.room),
          .runs = sums_.runs.load(std::memory_order_relaxed),
          .samples = sums_.samples.load(std::memory_order_relaxed),
          .bytes = sums_.bytes.load(std::memory_order_relaxed),
          .ready = std::ranges::count(slots_, true, &Slot::done),
          .capacity = static_cast<std::int64_t>(room_)};
}

}  // namespace ronde::data
