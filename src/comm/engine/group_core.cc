#include "ronde/comm/engine/group_core.h"

#include <algorithm>
#include <bit>

#include "ronde/base/system/clock.h"
#include "ronde/base/text/units.h"
#include "ronde/comm/execute/staging.h"
#include "ronde/comm/watch/clock_offset.h"

namespace ronde::comm::detail {
namespace {

AgreementOptions agreement_options(const EngineOptions& options, const Link* link) {
  return {.rank = link ? link->rank() : 0,
          .size = link ? link->size() : 1,
          .limits = {.bytes = options.fusion_bytes, .first_bytes = options.first_bucket_bytes},
          .deterministic = options.deterministic};
}

// What a recorder is told of a bucket.
GroupTrace::Moved moved(const std::vector<Work>& works, std::size_t bytes, std::uint64_t sequence) {
  GroupTrace::Moved facts{.what = name(works.front().description->operation),
                          .sequence = sequence,
                          .requests = works.size(),
                          .bytes = bytes};
  for (const Work& work : works) {
    facts.wire += wire_bytes(work);
    if (!work.ticket) continue;
    const auto at = work.ticket->submitted;
    facts.arrived = std::max(facts.arrived, at);
    facts.first_arrived = facts.first_arrived.count() == 0 ? at : std::min(facts.first_arrived, at);
  }
  return facts;
}

}  // namespace

GroupCore::GroupCore(GroupContext& context, std::string title, std::shared_ptr<const std::vector<int>> ranks,
                     std::unique_ptr<Link> link)
    : context_(context),
      title_(std::move(title)),
      ranks_(std::move(ranks)),
      link_(std::move(link)),
      names_(&context.looks),
      agreement_(agreement_options(context.options, link_.get()), names_),
      scratch_(context.node.arena()),
      device_path_(context.node.arena(), {.wake = [&node = context.node] { node.wake_self(); },
                                          .chunk_bytes = context.hooks.stage_bytes,
                                          .on_host = context.hooks.stage_host || context.hooks.nccl}),
      nccl_path_(context.nccl),
      trace_(link_ ? context.options.recorder : nullptr, title_) {
  if (!link_) return;
  agreeing_ = agree();
  moving_ = move();
}

void GroupCore::autotune(int nodes) {
  const EngineOptions& options = context_.options;
  if (!options.autotune || !link_ || link_->rank() != 0 || link_->size() == 1) return;
  if (options.deterministic || options.static_plan) {
    options.log.info("autotune is off: {}",
                     options.deterministic ? "comm.deterministic requires the same bits on every run"
                                           : "with comm.static, ranks have no point at which they can change the plan");
    return;
  }
  tuner_ = std::make_unique<Tuner>(TunerOptions{.defaults = agreement_.tuning(),
                                                .algorithms = link_->algorithms(),
                                                .ranks = link_->size(),
                                                .nodes = nodes,
                                                .file = options.autotune_file,
                                                .log = options.log});
}

std::optional<Error> GroupCore::refusal() const {
  if (!refuses_.load(std::memory_order_acquire)) return {};
  return refusal_;
}

void GroupCore::come_into(Phase phase) const {
  if (context_.hooks.on_phase) context_.hooks.on_phase(phase);
}

bool GroupCore::worth_moving(Effort effort) const {
  constexpr std::size_t kSmall = 64 << 10;
  return effort == Effort::All || queue_.empty() || queue_.front().bytes <= kSmall;
}

bool GroupCore::can_advance(Effort effort) const {
  return (agreeing_ && agreeing_.can_advance()) || (moving_ && moving_.can_advance() && worth_moving(effort));
}

bool GroupCore::advance(Effort effort) {
  bool further = false;
  while (can_advance(effort)) {
    further = true;
    if (agreeing_ && agreeing_.can_advance()) advance_task(agreeing_, false);
    if (moving_ && moving_.can_advance() && worth_moving(effort)) advance_task(moving_, true);
  }
  if (!departures_.empty()) check_departures();
  return further;
}

// A task that fails has no way on: the group is over.
void GroupCore::advance_task(Task& task, bool is_move) {
  try {
    if (is_move) {
      ++moves_;
      trace_.move_resumes();
    }
    task.advance();
    if (is_move && moving()) trace_.move_waits();
  } catch (const Error& error) {
    fail(error);
  } catch (const std::exception& error) {
    fail(Error(Error::Kind::System, fmt::format("{}: {}", title_, error.what())));
  }
}

void GroupCore::run(Bucket bucket) {
  std::size_t bytes = 0;
  for (const BucketItem& item : bucket) bytes += fusion_of(item).bytes;
  queue_.push_back({std::move(bucket), bytes, agreement_.tuning().algorithm});
}

Task GroupCore::move() {
  for (;;) {
    co_await until([this] { return !queue_.empty(); });
    come_into(Phase::Reducing);
    // Members count the same buckets, so they meet here without a word; often at first, then now and then, so that the
    // drift of clocks can be told from their difference.
    if (measures_clocks_ && (buckets_ % 1024 == 0 || std::has_single_bit(buckets_)))
      co_await align_clocks(*link_, context_.options.recorder);
    trace_.move_begins();
    const std::vector<Work> works = work_of(queue_.front().bucket);
    link_->use_algorithm(queue_.front().algorithm);
    co_await move_one(works);
    if (trace_.on()) trace_.move_ends(moved(works, queue_.front().bytes, buckets_));
    link_->finish_bucket();
    const Queued done = std::move(queue_.front());  // keeps what `works` points to; not before nothing can fail
    ++buckets_;
    ++context_.statistics.buckets;
    queue_.pop_front();
    for (const Work& work : works)
      if (work.ticket) finish(*work.ticket);
  }
}

Task GroupCore::move_one(const std::vector<Work>& works) {
  if (fusion_of(queue_.front().bucket.front()).kind != 0) {
    if (device_path_.takes(works.front()))
      co_await move_on_gpu(works, true);
    else
      co_await execute_allreduce(*link_, works, scratch_);
    co_return;
  }
  for (const Work& work : works) {
    if (work.description->operation == kMakeGroup || work.description->operation == kDropGroup)
      co_await context_.run_special(*this, *work.ticket);
    else if (device_path_.takes(work))
      co_await move_on_gpu(std::vector<Work>(1, work), false);
    else
      co_await execute_alone(*link_, work, scratch_);
  }
}

// By NCCL where that connects the members and can do it: all of them decide the same.
Task GroupCore::move_on_gpu(std::vector<Work> works, bool fused) {
  const bool can = nccl_path_.takes(*works.front().description);
  if (can && !nccl_path_.opened()) {
    const auto with_ticket = std::ranges::find_if(works, [](const Work& work) { return work.ticket != nullptr; });
    co_await nccl_path_.open(*link_, with_ticket == works.end() ? device::kHost : gpu_of(with_ticket->ticket->request));
  }
  if (can && nccl_path_.connected())
    co_await nccl_path_.run(*link_, works, fused, scratch_);
  else
    co_await device_path_.run(*link_, works, fused, scratch_);
}

void GroupCore::watch_streams(std::chrono::nanoseconds now) {
  try {
    device_path_.check();
    nccl_path_.watch(now);
  } catch (const Error& error) {
    fail(error);
  }
}

void GroupCore::wait_for(Ticket& ticket) {
  agreement_.wait_for(*ticket.first);
  ticket.wanted = true;
  ++wanted_;
  ++context_.wanted;
}

void GroupCore::finish(Ticket& ticket) {
  if (ticket.wanted) {
    --wanted_;
    --context_.wanted;
  }
  if (ticket.description.operation == Operation::Join) joined.store(false, std::memory_order_release);
  ++context_.statistics.requests;
  live.fetch_sub(1, std::memory_order_release);
  ticket.finish();
}

void GroupCore::fail_unit(Unit& first, const Why& why) {
  for (Unit* part = &first; part;) {
    Ticket& ticket = Ticket::of(*part);
    part = part->next;  // a finished ticket may be gone
    ticket.error = why(ticket);
    finish(ticket);
  }
}

void GroupCore::stop_agreeing(const Why& why) {
  if (!agreeing_) return;
  if (under_way()) context_.node.arena().retire();
  agreeing_ = Task();
  for (Unit* unit : agreement_.pending()) fail_unit(*unit, why);
  if (Unit* join = agreement_.take_join()) fail_unit(*join, why);
  agreement_.forget_all();
}

void GroupCore::stop_moving(const Why& why) {
  if (under_way()) context_.node.arena().retire();
  moving_ = Task();
  nccl_path_.forget_connecting();
  device_path_.settle();  // before programs hear of it, and free what copies still read and write
  for (const Queued& queued : queue_)
    for (const BucketItem& item : queued.bucket)
      if (item.unit) fail_unit(*item.unit, why);
  queue_.clear();
}

void GroupCore::stop() {
  agreeing_ = Task();
  moving_ = Task();
  nccl_path_.stop();
  device_path_.stop();
  scratch_.give_back();
}

void GroupCore::refuse(const Error& why) {
  if (refuses_.load(std::memory_order_relaxed)) return;  // the first reason counts
  refusal_ = why;
  refuses_.store(true, std::memory_order_release);
}

void GroupCore::reject(Ticket& first) {
  fail_unit(first, [this](const Ticket&) { return *refusal_; });
}

void GroupCore::fail(const Error& why) {
  refuse(why);
  const Why same = [&](const Ticket& ticket) {
    return Error(why.kind(), fmt::format("{}: {}", comm::detail::title(ticket), why.what()), {.ranks = why.ranks()});
  };
  stop_agreeing(same);
  stop_moving(same);
}

void GroupCore::on_departure(const Departure& departure) {
  if (!link_) return;
  const auto place = std::ranges::find(*ranks_, departure.rank);
  if (place == ranks_->end()) return;
  const auto member = static_cast<int>(place - ranks_->begin());
  for (const Departure::Done& done : departure.done)
    if (done.channel == channel && done.partner == partner_of(member)) link_->left(member, done.rounds, done.buckets);
  departures_.push_back({member, departure});
  nccl_path_.member_left(monotonic_now(), departure.by_itself);
  check_departures();
}

// A member that has gone may have done its part in what is under way here: that can still be finished.
void GroupCore::check_departures() {
  for (const Gone& gone : departures_) {
    const int member = gone.member;
    const Departure& departure = gone.how;
    const Why lost = [&](const Ticket& ticket) {
      return Error(Error::Kind::PeerLost,
                   fmt::format("{}: {}, {} after this request was submitted", comm::detail::title(ticket),
                               departure.text, format_duration(monotonic_now() - ticket.submitted)),
                   {.ranks = {departure.blamed}});
    };
    if (agreeing_ && link_->rounds_of(member) <= rounds_) {
      refuse(Error(Error::Kind::PeerLost, departure.text, {.ranks = {departure.blamed}}));
      stop_agreeing(lost);
    }
    // Also what is agreed on later, in a round that it still took part in.
    if ((moving_ || moving()) && link_->buckets_of(member) <= buckets_) stop_moving(lost);
  }
}

}  // namespace ronde::comm::detail
