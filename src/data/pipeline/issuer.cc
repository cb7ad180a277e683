#include "ronde/data/pipeline/issuer.h"

#include <algorithm>
#include <utility>

#include "ronde/base/error.h"
#include "ronde/base/system/clock.h"
#include "ronde/base/text/units.h"

namespace ronde::data {
namespace {

constexpr std::size_t kRunBytes = std::size_t{64} << 10;
constexpr std::int64_t kLongestRun = 64;

void check(const IssuerOptions& options) {
  const std::int64_t samples = options.view.size();
  if (options.ranks < 1 || options.rank < 0 || options.rank >= options.ranks)
    throw Error::bad_input("rank {} is out of range for {} ranks", options.rank, options.ranks);
  if (options.start.epoch < 0 || options.start.position < 0 || options.start.position > samples)
    throw Error::bad_input("'{}' with {} samples cannot continue from {}", options.name, samples,
                           to_text(options.start));
  if (!options.batches) return;
  if (options.batches->batch < 1)
    throw Error::bad_input("batch size must be at least 1, got {}", options.batches->batch);
  if (!options.batches->keep_short && samples < options.batches->batch)
    throw Error::bad_input("'{}' has {} samples, fewer than one batch of {}", options.name, samples,
                           options.batches->batch);
}

}  // namespace

std::int64_t run_length(std::size_t sample_bytes, std::int64_t share, int threads) {
  const auto fitting = static_cast<std::int64_t>(kRunBytes / std::max<std::size_t>(sample_bytes, 1));
  const std::int64_t even = share > 0 ? (share + 2 * threads - 1) / (2 * threads) : kLongestRun;
  return std::clamp<std::int64_t>(std::min(fitting, even), 1, kLongestRun);
}

Issuer::Issuer(IssuerOptions options, Budget& budget, std::stop_token stop)
    : options_((check(options), std::move(options))),
      budget_(budget),
      stop_(std::move(stop)),
      pool_(std::make_shared<detail::BufferPool>(options_.device)),
      at_(options_.start),
      ahead_(std::max<std::size_t>(options_.ahead, 1)),
      unknown_(options_.measured) {
  if (group_bytes() >= budget_.limit())
    throw Error::bad_input(
        "a batch needs {}, but data.memory leaves {} for batches: raise data.memory, or use a smaller batch",
        format_bytes(group_bytes()), format_bytes(budget_.limit()));
}

std::size_t Issuer::group_bytes() const {
  if (!options_.kind || !options_.batches) return 0;
  const std::int64_t most = std::min(options_.batches->batch, options_.view.size());
  return static_cast<std::size_t>(share({0, most}, 0, options_.ranks).size()) * options_.kind->bytes();
}

std::optional<Run> Issuer::next() {
  return options_.batches ? next_of_group() : next_alone();
}

Draw Issuer::draw_at(std::int64_t epoch, std::int64_t position) const {
  return {options_.draw_seed, epoch, options_.view.epoch(epoch)(position)};
}

// Acquires memory for the samples as well; false when the pipeline is being stopped.
bool Issuer::fill(Run& run, std::int64_t begin, std::int64_t end) {
  if (looked_up_ != at_.epoch) {
    lookup_ = options_.view.epoch(at_.epoch);
    looked_up_ = at_.epoch;
  }
  std::size_t bytes = 0, most_each = 0;
  bool alone = false;
  if (begin < end) {
    Lock lock(mutex_);
    // The first run goes alone when nobody knows what its samples will become; the second waits until it is known.
    if (probed_ && !room_.wait(lock, stop_, [this]() RONDE_REQUIRES(mutex_) { return !unknown_; })) return false;
    alone = unknown_;
    probed_ = true;
    most_each = most_each_;
  }
  for (std::int64_t position = begin; position < end; ++position) {
    const std::int64_t index = lookup_(position);
    run.items.push_back({.position = position, .draw = {options_.draw_seed, at_.epoch, index}});
    bytes += std::max(stored_bytes(index), most_each);
  }
  // What is larger than all there is goes alone.
  const std::size_t most = budget_.limit() - group_bytes();
  if (group_ && options_.measured) {  // a batch that is put together at the end holds all of its samples until then
    granted_ = run.slot == 0 ? bytes : granted_ + bytes;
    granted_items_ = run.items.size() + (run.slot == 0 ? 0 : granted_items_);
    // Those of the first run may have turned out larger than they were taken for.
    if (std::max(granted_, granted_items_ * most_each) > most && run.slot > 0)
      throw Error::bad_input(
          "the samples of a batch need more than the {} that data.memory leaves for them: raise data.memory, or use a "
          "smaller batch",
          format_bytes(most));
  }
  auto reservation = acquire(alone ? most : std::min(bytes, most));
  if (!reservation) return false;
  run.reservation = std::move(*reservation);
  return true;
}

// What nobody knows the size of goes one by one at first, and then as samples have turned out to be: a run of many
// large ones would be more than there is room for. 0: it is being stopped.
std::int64_t Issuer::length_alone() {
  if (!options_.measured) return options_.length;
  Lock lock(mutex_);
  if (probed_ && !room_.wait(lock, stop_, [this]() RONDE_REQUIRES(mutex_) { return !unknown_; })) return 0;
  if (unknown_) return 1;
  const auto fitting = static_cast<std::int64_t>(kRunBytes / std::max<std::size_t>(most_each_, 1));
  return std::clamp<std::int64_t>(fitting, 1, options_.length);
}

std::optional<Run> Issuer::next_alone() {
  if (at_.position >= options_.view.size()) at_ = {at_.epoch + 1, 0, at_.seed};
  if (at_.epoch >= options_.end_epoch || options_.view.size() == 0) return {};
  Run run;
  const std::int64_t length = length_alone();
  if (length == 0) return {};
  const std::int64_t end = std::min(at_.position + length, options_.view.size());
  if (!fill(run, at_.position, end)) return {};
  at_.position = end;
  return run;
}

std::optional<Run> Issuer::next_of_group() {
  if (!group_ && !open_group()) return {};
  const Range local = group_->facts.local;
  Run run{.group = group_, .slot = issued_};
  const std::int64_t end = std::min(issued_ + options_.length, local.size());
  if (!fill(run, local.begin + issued_, local.begin + end)) return {};
  issued_ = end;
  run.closes = issued_ >= local.size();
  if (run.closes) {
    at_ = group_->facts.after;
    group_.reset();
  }
  return run;
}

bool Issuer::open_group() {
  if (options_.batches->batches() == 0) return false;
  while (at_.epoch < options_.end_epoch && options_.batches->batch_at(at_.position).size() == 0)
    at_ = {at_.epoch + 1, 0, at_.seed};  // a position at the very end of its epoch
  if (at_.epoch >= options_.end_epoch) return false;
  if (!wait_for_turn()) return false;
  auto group = std::make_shared<Group>();
  group->slot = BatchSlot([this] { release_slot(); });
  group->facts = facts_at(at_);
  issued_ = 0;
  if (options_.kind) {
    auto reservation = acquire(static_cast<std::size_t>(group->facts.local.size()) * options_.kind->bytes());
    if (!reservation) return false;
    group->reservation = std::move(*reservation);
    group->batch.emplace(Batch(group->facts, pool_));
    if (options_.filled_once && group->batch->is_filled()) issued_ = group->facts.local.size();
  }
  group_ = std::move(group);
  return true;
}

// A sample whose size cannot be told is found out to be bad when it is read.
std::size_t Issuer::stored_bytes(std::int64_t index) const {
  try {
    return options_.bytes ? options_.bytes(index) : 0;
  } catch (const Error&) {
    return 0;
  }
}

bool Issuer::wait_for_turn() {
  const auto since = monotonic_now();
  Lock lock(mutex_);
  if (!room_.wait(lock, stop_, [this]() RONDE_REQUIRES(mutex_) { return open_ < ahead_; })) return false;
  ++open_;
  const auto waited = monotonic_now() - since;
  waited_ += waited;
  waited_for_turn_.fetch_add(waited.count(), std::memory_order_relaxed);
  return true;
}

std::optional<Budget::Reservation> Issuer::acquire(std::size_t bytes) {
  const auto since = monotonic_now();
  auto reservation = budget_.acquire(bytes, stop_);
  waited_ += monotonic_now() - since;
  return reservation;
}

Batch::Facts Issuer::facts_at(const Position& at) const {
  const BatchPlan& plan = *options_.batches;
  const Range global = plan.batch_at(at.position);
  const bool last = plan.batch_at(global.end).size() == 0;
  return {.kind = options_.kind.value_or(SampleKind{}),
          .epoch = at.epoch,
          .index = plan.index_of(at.position),
          .global = global,
          .local = share(global, options_.rank, options_.ranks),
          .after = last ? Position{at.epoch + 1, 0, at.seed} : Position{at.epoch, global.end, at.seed},
          .ends_epoch = last};
}

void Issuer::release_slot() {
  {
    const Lock lock(mutex_);
    --open_;
  }
  room_.notify_one();
}

void Issuer::set_ahead(std::size_t batches) {
  {
    const Lock lock(mutex_);
    ahead_ = std::max<std::size_t>(batches, 1);
  }
  room_.notify_one();
}

void Issuer::settle(Run& run, std::size_t before, std::size_t after) {
  const std::size_t whole = 2 * after;  // once as samples, once as the batch that they are copied to
  if (whole > run.reservation.bytes())
    run.reservation.grow(whole - run.reservation.bytes());
  else
    run.reservation.shrink(whole);
  if (run.items.empty()) return;
  {
    const Lock lock(mutex_);
    most_each_ = std::max(most_each_, std::max(before, whole) / run.items.size());
    unknown_ = false;
  }
  room_.notify_all();
}

}  // namespace ronde::data
