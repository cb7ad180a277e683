#include "ronde/comm/engine/engine_core.h"

#include <algorithm>
#include <exception>

#include "ronde/base/system/clock.h"
#include "ronde/base/system/thread.h"
#include "ronde/comm/interruptible.h"
#include "ronde/comm/support/unix_socket.h"
#include "ronde/topology/affinity.h"
#include "ronde/trace/span.h"
#include "ronde/trace/span_names.h"

namespace ronde::comm::detail {
namespace {

using std::chrono::nanoseconds;

// Cpus that the launcher has kept for this thread. They may have been taken away since: then it runs where it may.
void bind_to(const std::string& cpus) {
  if (cpus.empty()) return;
  try {
    topology::bind_this_thread(topology::CpuSet::parse(cpus));
  } catch (const Error&) {
  }
}

// How long the engine's thread leaves MPI to whoever is at work.
constexpr std::chrono::milliseconds kNap{1};

// How often a pending request is looked at.
nanoseconds stall_interval(const EngineOptions& options) {
  nanoseconds shortest = options.stall_warn;
  if (options.stall_abort.count() > 0) shortest = std::min(shortest, options.stall_abort);
  return std::max<nanoseconds>(shortest / 4, std::chrono::milliseconds(150));
}

bool any_polls(const std::vector<std::shared_ptr<GroupCore>>& groups) {
  return std::ranges::any_of(groups, [](const auto& group) { return group->polls(); });
}

}  // namespace

EngineCore::EngineCore(std::unique_ptr<Bootstrap> bootstrap, Peers peers, int rank, EngineOptions options,
                       EngineHooks hooks)
    : options_(std::move(options)),
      hooks_(std::move(hooks)),
      rank_(rank),
      bootstrap_(std::move(bootstrap)),
      process_end_(dynamic_cast<ProcessEnd*>(bootstrap_.get())),
      peers_(std::move(peers)),
      spin_policy_(SpinPolicy::for_ranks(peers_.node->size(), peers_.cpus, !peers_.mesh)),
      caller_spin_policy_(spin_policy_.in_a_call(peers_.node->size())),
      context_{.options = options_,
               .hooks = hooks_,
               .nccl = {.host = peers_.job->host(rank),
                        .rank = rank,
                        .local_rank = peers_.node->rank(),
                        .deadline = options_.start_timeout,
                        .stuck = options_.stall_abort,
                        .stand_in = hooks_.nccl,
                        .log = options_.log},
               .node = *peers_.node,
               .statistics = statistics_,
               .wanted = wanted_,
               .looks = clock_->looks,
               .who = [this](int peer) { return who(peer); },
               .stopped = [this](int peer) { return stopped(peer); },
               .doing =
                   [this](int peer) {
                     token_.assert_held();
                     return doing(peer);
                   },
               .run_special =
                   [this](GroupCore& group, Ticket& ticket) {
                     token_.assert_held();
                     return run_special(group, ticket);
                   }} {
  if (hooks_.wrap_mesh && peers_.mesh) peers_.data = hooks_.wrap_mesh(*peers_.mesh);
  // The ranks of a node begin with the same two pieces of their arenas, so each knows where those of the others lie.
  status_offset_ = static_cast<std::size_t>(node().arena().allocate(sizeof(StatusArea)) - node().base(node().rank()));
  const std::byte* areas = node().arena().allocate(areas_bytes(peers_.ranks.size()));
  const auto offset = static_cast<std::size_t>(areas - node().base(node().rank()));
  world_ = build_group("world", peers_.all, std::vector<std::size_t>(peers_.ranks.size(), offset), {});
  world_->measure_clocks();
  world_->autotune(nodes());
  add_group(world_);
  watchdog_ = std::make_unique<Watchdog>(
      peers_.sockets, [this](int peer, const std::string& message) { on_peer_message(peer, message); });
  if (peers_.mesh) listen_to_mesh();
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  if (!process_end_) return;
  std::vector<int> pids;  // of those that can be seen: what a rank in a container says of itself counts only there
  for (const FileDescriptor& socket : peers_.sockets)
    if (const int pid = socket ? support::peer_process(socket.get()) : 0; pid > 0) pids.push_back(pid);
  leaves_by_ = process_end_->before_end(std::move(pids), [this] { shutdown("its program called exit()"); });
}

// forget() waits while the process's end shuts this engine down on another thread, which needs end_mutex_.
EngineCore::~EngineCore() {
  shutdown("");
  if (leaves_by_ >= 0) process_end_->forget(leaves_by_);
}

StatusArea& EngineCore::status(int peer) const {
  return *reinterpret_cast<StatusArea*>(node().base(peer) + status_offset_);
}

std::string EngineCore::who(int rank) const {
  return peers_.job->name(rank);
}

bool EngineCore::stopped(int rank) const {
  return is_here(rank) && rank != rank_ && process_is_stopped(peers_.job->pid(rank));
}

std::string EngineCore::doing(int rank) const {
  const auto peer = std::ranges::find(peers_.ranks, rank);
  if (peer != peers_.ranks.end()) return status(static_cast<int>(peer - peers_.ranks.begin())).text(monotonic_now());
  const auto told = doing_elsewhere_.find(rank);
  return told == doing_elsewhere_.end() ? "its node has not answered" : told->second;
}

bool EngineCore::drain() {
  if (!fresh_.load(std::memory_order_acquire)) return false;
  std::vector<Departed> departed;
  {
    const Lock lock(inbox_mutex_);
    taken_.swap(inbox_);
    departed.swap(departed_);
    fresh_.store(false, std::memory_order_relaxed);
  }
  const Ticket* last = nullptr;
  for (const Item& item : taken_) {
    Ticket& ticket = *item.ticket;
    if (ticket.ready()) continue;
    GroupCore& group = *ticket.group;
    if (!item.waits) last = &ticket;
    if (!item.waits && !group.known && !group.refusal()) add_group(ticket.group);
    if (item.waits) {
      group.wait_for(ticket);
    } else if (group.refusal()) {
      group.reject(ticket);
      last = nullptr;
    } else {
      group.submit(ticket);
    }
  }
  if (last) status(node().rank()).set_request(last->request.operation, last->request.name, last->submitted);
  taken_.clear();
  for (Departed& one : departed) on_departure(std::move(one));
  if (!departed.empty()) tell_rest();
  return true;
}

void EngineCore::add_group(const std::shared_ptr<GroupCore>& group) {
  group->known = true;
  groups_.push_back(group);
  if (broken_) return group->fail(*broken_);
  for (const Departure& departure : departures_) group->on_departure(departure);
}

// Nothing may be thrown here: this is anyone's thread. Groups look after themselves; what is left is the network, and a
// lack of memory.
bool EngineCore::progress(GroupCore::Effort effort) {
  return guarded([&] {
    token_.assert_held();
    const bool moved = pump();
    bool further = drain();
    for (std::size_t i = 0; i < groups_.size(); ++i) {  // groups may be added on the way
      const std::shared_ptr<GroupCore> group = groups_[i];
      further = group->advance(effort) || further;
    }
    if (further) {  // a question of another node is not what is waited for
      looks_back_off_.reset();
      polls_back_off_.reset();
      gpus_back_off_.reset();
    }
    return further || moved;
  });
}

bool EngineCore::fail_all(const Error& why) {
  for (const auto& group : groups_) group->fail(why);
  return true;
}

// From here on nothing works: what is on its way fails, and so does what comes later.
void EngineCore::break_down(const std::string& how) {
  if (broken_) return;
  broken_ =
      Error(Error::Kind::System, fmt::format("the engine of rank {} stopped: {}", rank_, how), {.ranks = {rank_}});
  fail_all(*broken_);
}

bool EngineCore::anything_to_do(GroupCore::Effort effort) {
  return guarded([&] {
    token_.assert_held();
    pump();
    if (fresh_.load(std::memory_order_acquire)) return true;
    return std::ranges::any_of(groups_, [effort](const auto& group) { return group->can_advance(effort); });
  });
}

bool EngineCore::anything_pending() const {
  return std::ranges::any_of(groups_, [](const auto& group) { return !group->idle(); });
}

// From here on rings are needed; what submitters need not ring for is told.
void EngineCore::get_ready_to_sleep(bool for_now) {
  {
    const Lock lock(inbox_mutex_);
    for (const auto& group : groups_) group->outside.ignorable_submissions = group->ignorable_submissions();
  }
  const bool busy = std::ranges::any_of(groups_, [](const auto& group) { return group->under_way(); });
  (void)node().about_to_sleep(!busy, sleeper_ ? Node::Sleeper::Caller : Node::Sleeper::Engine);
  // Not before: what comes from now on rings, be it seen in a last look or not. Who is back in a moment, as a program
  // that calls again and again, would be woken just before it looks itself.
  if (peers_.mesh && !broken_) for_now && !anything_pending() ? watchdog_->arm_soon() : watchdog_->arm();
}

void EngineCore::give_up_token() {
  get_ready_to_sleep(true);
  const bool must_nap = !naps_ && must_be_pumped();
  const bool more = anything_to_do() || must_nap || any_polls(groups_) || looks_too_seldom();
  const bool must_start_clock = nobody_looks_at_the_clock();
  wake_caller_if_done();
  token_.unlock();
  if (more || must_start_clock) node().wake_self();
}

// A thread that sleeps in a call looks at the clock by itself, so what it has submitted has not woken the engine's
// thread. It may leave with something pending: it was interrupted, or another thread waits too.
bool EngineCore::nobody_looks_at_the_clock() {
  if (sleeper_ || !anything_pending()) return false;
  const Lock lock(inbox_mutex_);
  return std::exchange(sleeps_for_good_, false);
}

// Others may finish what it waits for: its own bell alone wakes it.
void EngineCore::wake_caller_if_done() {
  if (sleeper_ && sleeper_->ready()) node().wake_self(Node::Sleeper::Caller);
}

void EngineCore::run(const std::stop_token& stop) {
  name_this_thread("ronde engine");
  bind_to(options_.engine_cpus);
  // While data moves, peers are about to answer: looking for them is cheaper than sleeping.
  const auto worth_looking = [&] {
    token_.assert_held();
    const bool moving = std::ranges::any_of(groups_, [](const auto& group) { return group->moving(); });
    return moving && spin_policy_.wait([&] {
      token_.assert_held();
      return anything_to_do() || stop.stop_requested();
    });
  };
  std::uint32_t rung = 0;
  bool only_a_nap = false;  // nobody has rung: MPI is to be looked at, by whomever
  while (!stop.stop_requested()) {
    if (!take_token(only_a_nap)) {  // somebody is at work, and rings when there is need
      node().sleep_since(rung, Deadline::after(kNap));
      only_a_nap = node().rings() == rung;
      continue;
    }
    node().awake();
    ++statistics_.wake_ups;
    do {
      while (progress(GroupCore::Effort::All)) {
      }
    } while (!stop.stop_requested() && worth_looking());
    check_stalls();
    rung = node().rings();
    get_ready_to_sleep();
    const bool more = anything_to_do();
    const Deadline until = next_look();
    if (hooks_.on_phase && !until.at()) hooks_.on_phase(Phase::Idle);
    const bool naps = naps_;
    wake_caller_if_done();
    token_.unlock();
    if (!more && !stop.stop_requested()) node().sleep_since(rung, until);
    only_a_nap = naps && !more && node().rings() == rung;
  }
}

bool EngineCore::take_token(bool only_if_free) {
  if (only_if_free) return token_.try_lock();
  thread_wants_.store(true, std::memory_order_relaxed);
  token_.lock();
  thread_wants_.store(false, std::memory_order_relaxed);
  return true;
}

// Votes wake only those who are under way. Who may be in a circle must not hear of one late.
bool EngineCore::must_look_often() const {
  return std::ranges::any_of(groups_, [](const auto& group) { return group->waits_elsewhere(); });
}

bool EngineCore::must_watch_gpus() const {
  return std::ranges::any_of(groups_, [](const auto& group) { return group->on_gpus(); });
}

bool EngineCore::looks_too_seldom() const {
  return (!looks_often_ && must_look_often()) || (!watches_gpus_ && must_watch_gpus());
}

// When to look for stalls: never, while nothing is pending; the next submission then rings.
Deadline EngineCore::next_look() {
  const Lock lock(inbox_mutex_);
  looks_often_ = must_look_often();
  watches_gpus_ = must_watch_gpus();
  naps_ = must_be_pumped();
  sleeps_for_good_ = inbox_.empty() && !anything_pending() && !naps_;
  return sleeps_for_good_ ? Deadline() : look_while_pending();
}

// The same while something is pending, for whoever sleeps.
Deadline EngineCore::look_while_pending() {
  // A delayed link has nobody who rings when the delay is over, nor has NCCL while it connects.
  if (hooks_.link_delay.count() > 0) return Deadline::after(std::chrono::microseconds(200));
  const nanoseconds most = any_polls(groups_) ? polls_back_off_.next() : stall_interval(options_);
  const auto within = [most](nanoseconds time) { return Deadline::after(std::min(most, time)); };
  if (must_be_pumped()) return within(naps_back_off_.next());
  // A GPU that is broken calls nobody, and what NCCL has done tells nobody.
  if (must_watch_gpus()) return within(gpus_back_off_.next());
  if (must_look_often()) return within(looks_back_off_.next());
  return Deadline::after(most);
}

void EngineCore::check_stalls() {
  guarded([&] {
    token_.assert_held();
    const auto now = monotonic_now();
    for (const auto& group : groups_) group->check_stall(now);
    return true;
  });
}

void EngineCore::wait(const std::shared_ptr<Ticket>& ticket) {
  ticket->clock->waited();
  if (ticket->ready()) return;
  const trace::Span span(trace::span_names::kWaitForCommunication, "wait");
  ticket->engine->wait_for(ticket);
}

void EngineCore::wait_for(const std::shared_ptr<Ticket>& ticket) {
  post_wait(ticket);
  // Whoever does the work now may need this core, or be about to leave it to us: summoned at once, the engine's thread
  // would stay at work for ever, and each call would wake two threads.
  constexpr SpinPolicy kGiveWay{.spins = 0, .yields = 10};
  bool ours = false;
  kGiveWay.wait([&] { return ticket->ready() || (ours = try_token()); });
  if (ours) {
    token_.assert_held();  // since try_token() said so
    drive(*ticket);
  }
  if (ticket->ready()) return;
  if (!ours) node().summon_self();
  if (!kGiveWay.wait([&] { return ticket->ready(); })) ticket->sleep();
}

bool EngineCore::poll(const std::shared_ptr<Ticket>& ticket) {
  if (!ticket->ready()) {
    ticket->engine->post_wait(ticket);
    ticket->engine->nudge();
  }
  if (!ticket->ready()) return false;
  ticket->clock->waited();
  return true;
}

// A program that polls in a loop must not keep the engine's thread from its work.
bool EngineCore::try_token() {
  return !thread_wants_.load(std::memory_order_relaxed) && token_.try_lock();
}

// The calling thread gets things going, and leaves what takes long to the engine's.
void EngineCore::nudge() {
  if (!try_token()) return node().summon_self();
  node().awake();
  // Ranks in step answer within a microsecond. Going at once would make them wake the engine's thread just before the
  // program waits for the answer itself.
  const SpinPolicy brief{.spins = spin_policy_.spins / 20, .yields = 0};
  const auto soon = [this] {
    token_.assert_held();
    return std::ranges::any_of(groups_, [](const auto& group) { return group->ends_soon(); });
  };
  const auto to_do = [this] {
    token_.assert_held();
    return anything_to_do(GroupCore::Effort::Little);
  };
  do {
    while (progress(GroupCore::Effort::Little)) {
    }
  } while (soon() && brief.wait(to_do));
  give_up_token();
}

// The caller does the engine's work until its own request is done, and sleeps by itself while peers are busy elsewhere:
// to wake the engine's thread, and to be woken by it, would take two more switches between threads. One caller may
// sleep so; the work of others is done by it, or by the engine's thread when it has left.
void EngineCore::drive(const Ticket& ticket) {
  const auto to_do = [this] {
    token_.assert_held();
    return anything_to_do();
  };
  Deadline next_check = Deadline::after(Ticket::kCheckInterval);
  for (;;) {
    node().awake();
    if (peers_.mesh) watchdog_->disarm();  // we look ourselves; its thread would only take a core away
    do {
      while (!ticket.ready() && progress(GroupCore::Effort::All)) {
      }
    } while (!ticket.ready() && caller_spin_policy_.wait(to_do));
    if (ticket.ready() || sleeper_) return give_up_token();
    try {
      sleep_in_call(ticket, next_check);
    } catch (...) {  // interrupted
      give_up_token();
      throw;
    }
  }
}

// What an Interruptible asks may take long, or need a lock of the program: not with the token.
void EngineCore::sleep_in_call(const Ticket& ticket, Deadline& next_check) {
  const std::function<void()>* const check = Interruptible::check();
  sleeper_ = &ticket;
  const std::uint32_t rung = node().rings(Node::Sleeper::Caller);
  get_ready_to_sleep();
  const bool more = anything_to_do();
  const Deadline look = look_while_pending();
  const Deadline until = check && next_check.at() < look.at() ? next_check : look;
  wake_caller_if_done();
  token_.unlock();
  if (!more) node().sleep_since(rung, until, Node::Sleeper::Caller);
  std::exception_ptr interruption;
  try {
    if (check && next_check.passed() && !ticket.ready()) {
      next_check = Deadline::after(Ticket::kCheckInterval);
      (*check)();
    }
  } catch (...) {
    interruption = std::current_exception();
  }
  token_.lock();
  sleeper_ = nullptr;
  if (interruption) std::rethrow_exception(interruption);
  if (more) return;
  ++statistics_.caller_wake_ups;
  check_stalls();
}

Statistics EngineCore::statistics() {
  const Lock lock(token_);
  Statistics now = statistics_;
  for (const auto& group : groups_) {
    now.plans += group->plans();
    now.control_messages += group->traffic().messages;
    now.control_bytes += group->traffic().bytes;
  }
  if (watchdog_) now.watchdog_wake_ups = watchdog_->wake_ups();
  return now;
}

std::shared_ptr<std::byte> EngineCore::allocate(std::size_t bytes) {
  // The arena is kept by what lies in it.
  const std::shared_ptr<Node> keep = peers_.node;
  return {keep->arena().allocate(bytes), [keep](std::byte* piece) { keep->arena().free(piece); }};
}

}  // namespace ronde::comm::detail
