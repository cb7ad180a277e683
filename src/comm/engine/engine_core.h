#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <unistd.h>

#include "ronde/base/system/mutex.h"
#include "ronde/comm/bootstrap/process_end.h"
#include "ronde/comm/engine.h"
#include "ronde/comm/engine/back_off.h"
#include "ronde/comm/engine/engine_hooks.h"
#include "ronde/comm/engine/group_core.h"
#include "ronde/comm/engine/slots.h"
#include "ronde/comm/link/nodes/peers.h"
#include "ronde/comm/link/nodes/routes.h"
#include "ronde/comm/link/spin_policy.h"
#include "ronde/comm/watch/status_area.h"
#include "ronde/comm/watch/watchdog.h"

namespace ronde::comm::detail {

// What the Engine is made of. Its work belongs to whoever holds the token: a thread of the program that waits for a
// request does it itself, large moves included, and sleeps in the place of the engine's thread where there is nothing
// to do; the engine's thread works while no thread of the program waits.
//
// Nothing is missed. Submitters put into the inbox under its lock, and ring the rank's doorbell unless the engine has
// said that it does not care yet. Who gives up the token first says that rings are needed, then looks once more whether
// anything can be done, and if so wakes the engine's thread.
class EngineCore {
 public:
  EngineCore(std::unique_ptr<Bootstrap> bootstrap, Peers peers, int rank, EngineOptions options,
             EngineHooks hooks = {});
  ~EngineCore();
  EngineCore(const EngineCore&) = delete;
  EngineCore& operator=(const EngineCore&) = delete;
  static std::unique_ptr<Engine> engine_of(std::unique_ptr<EngineCore> core);

  int rank() const { return rank_; }
  bool in_forked_child() const { return getpid() != pid_; }
  int local_rank() const { return node().rank(); }
  int local_size() const { return node().size(); }
  int node_of(int rank) const { return peers_.node_of(rank); }
  int nodes() const { return peers_.layout->count(); }
  const std::shared_ptr<GroupCore>& world() const { return world_; }

  // `waits_at_once`: the caller does; nobody else needs to look at it before.
  using Tickets = std::vector<std::shared_ptr<Ticket>>;
  Tickets submit(const std::shared_ptr<GroupCore>& group, std::vector<Request> requests, bool waits_at_once = false);
  // With the engine of the ticket, which may be gone when the ticket is ready.
  static void wait(const std::shared_ptr<Ticket>& ticket);
  static bool poll(const std::shared_ptr<Ticket>& ticket);

  // As Group's.
  std::string why_not_nccl(GroupCore& group);
  void reserve_in_stream(GroupCore& group, const std::vector<InStream>& all);
  void launched_in_stream(GroupCore& group, const device::Stream& stream);
  void allreduce_in_stream(GroupCore& group, const InStream& what, const device::Event& made, device::Event& done);

  std::shared_ptr<GroupCore> make_group(std::vector<int> ranks);
  void drop_group(const std::shared_ptr<GroupCore>& group);
  std::shared_ptr<GroupCore> make_group_among(std::vector<int> ranks, std::uint32_t number, Bootstrap& members);
  void drop_group_among(const std::shared_ptr<GroupCore>& group);
  std::shared_ptr<std::byte> allocate(std::size_t bytes);
  void set_step(std::int64_t step) {
    clock_->looks.fetch_add(1, std::memory_order_relaxed);
    status(node().rank()).set_step(step);
  }
  Statistics statistics();
  void shutdown(const std::string& why);
  // As if the process were killed: nobody is told.
  void vanish();

 private:
  struct Item {
    std::shared_ptr<Ticket> ticket;
    bool waits;  // not a submission: the program waits for it
  };

  Node& node() const { return *peers_.node; }
  StatusArea& status(int peer) const;
  std::string who(int rank) const;
  bool stopped(int rank) const;
  std::string doing(int rank) const RONDE_REQUIRES(token_);

  // Submitting; engine_submit.cc.
  std::shared_ptr<Ticket> make_ticket(Request request, const std::shared_ptr<GroupCore>& group, int rank);
  Tickets submit_mixed(const std::shared_ptr<GroupCore>& group, std::vector<Request> requests, bool waits_at_once);
  Tickets make_unit(const std::shared_ptr<GroupCore>& group, std::vector<Request> requests);
  void open_names(const Tickets& tickets);
  std::shared_ptr<GroupCore> pair_for(GroupCore& group, const Request& request);
  void post(std::span<const Tickets> units, bool waits_at_once);
  void post_or_close(std::span<const Tickets> units, bool waits_at_once);
  bool put_into_inbox(const Tickets& unit, std::chrono::nanoseconds now) RONDE_REQUIRES(inbox_mutex_);
  void take_names_back(const Tickets& tickets) const;
  void post_wait(const std::shared_ptr<Ticket>& ticket);
  void check_open(const GroupCore& group) const;
  void check_member(const GroupCore& group) const;  // which has not joined
  void check_in_stream(GroupCore& group) const RONDE_REQUIRES(token_);

  // Groups; engine_groups.cc.
  struct Channels {
    std::uint32_t own = 0, data = 0;  // see LinkParts
  };
  void close_group(GroupCore& group);
  std::vector<std::shared_ptr<GroupCore>> with_pairs(const std::shared_ptr<GroupCore>& group);
  void stop_groups(const std::vector<std::shared_ptr<GroupCore>>& gone) RONDE_REQUIRES(token_);
  void free_areas(const std::vector<std::shared_ptr<GroupCore>>& gone);
  using Ranks = std::shared_ptr<const std::vector<int>>;
  // `areas`: see LinkParts.
  std::shared_ptr<GroupCore> build_group(std::string title, Ranks ranks, std::vector<std::size_t> areas,
                                         const Channels& channels);
  std::unique_ptr<Link> link_between(Ranks ranks, const std::vector<std::size_t>& areas, const Channels& channels);
  std::vector<std::size_t> pair_areas(const GroupCore& group, int sender, int receiver, std::byte*& own_area);
  Task drop(GroupCore& world, const std::shared_ptr<GroupCore>& dropped) RONDE_REQUIRES(token_);
  Task run_special(GroupCore& group, Ticket& ticket) RONDE_REQUIRES(token_);
  std::shared_ptr<Ticket> agree_on_group(Operation operation, std::string text, std::vector<std::int64_t> content,
                                         const std::shared_ptr<GroupCore>& subject);

  void wait_for(const std::shared_ptr<Ticket>& ticket);
  bool try_token() RONDE_TRY_ACQUIRE(true, token_);
  bool take_token(bool only_if_free) RONDE_TRY_ACQUIRE(true, token_);
  void nudge();

  // The work.
  bool progress(GroupCore::Effort effort) RONDE_REQUIRES(token_);
  // What `work` returns; false when it throws, and then this engine has broken down.
  template <class Work>
  bool guarded(Work work) noexcept RONDE_REQUIRES(token_) {
    try {
      return work();
    } catch (const std::exception& failure) {
      break_down(failure.what());
    } catch (...) {
      break_down("an exception of unknown type");
    }
    return false;
  }
  void break_down(const std::string& how) RONDE_REQUIRES(token_);
  bool drain() RONDE_REQUIRES(token_);
  void add_group(const std::shared_ptr<GroupCore>& group) RONDE_REQUIRES(token_);
  bool anything_to_do(GroupCore::Effort effort = GroupCore::Effort::All) RONDE_REQUIRES(token_);
  void get_ready_to_sleep(bool for_now = false) RONDE_REQUIRES(token_);
  void drive(const Ticket& ticket) RONDE_RELEASE(token_);
  void sleep_in_call(const Ticket& ticket, Deadline& next_check) RONDE_REQUIRES(token_);
  void give_up_token() RONDE_RELEASE(token_);
  void wake_caller_if_done() RONDE_REQUIRES(token_);
  bool nobody_looks_at_the_clock() RONDE_REQUIRES(token_);
  void check_stalls() RONDE_REQUIRES(token_);
  bool anything_pending() const RONDE_REQUIRES(token_);
  bool must_look_often() const RONDE_REQUIRES(token_);
  bool must_watch_gpus() const RONDE_REQUIRES(token_);
  // More than the engine's thread knew of when it went to sleep: it must be woken.
  bool looks_too_seldom() const RONDE_REQUIRES(token_);
  bool must_be_pumped() const RONDE_REQUIRES(token_) { return !broken_ && peers_.must_be_pumped(); }
  bool fail_all(const Error& why) RONDE_REQUIRES(token_);

  void run(const std::stop_token& stop);
  Deadline next_look() RONDE_REQUIRES(token_);
  Deadline look_while_pending() RONDE_REQUIRES(token_);

  // Departures and the network; engine_departures.cc.
  bool pump() RONDE_REQUIRES(token_);
  void listen_to_mesh();
  void on_note(int from, std::string_view text) RONDE_REQUIRES(token_);
  void lose(int peer, const std::string& how);
  std::string how_ended(int rank) const;
  void on_peer_message(int peer, const std::string& message);
  void note_departure(Departure departure, bool from_node);
  struct Departed {
    Departure what;
    bool from_node = false;  // a rank of this node has told it, or its end was seen here
  };
  // What is still to be told, of all that was heard at once.
  struct Untold {
    std::vector<Departure> node, speaker, nodes;  // see Tells
  };
  void on_departure(Departed departed) RONDE_REQUIRES(token_);
  bool is_here(int rank) const { return node_of(rank) == node_of(rank_); }
  bool speaks() const RONDE_REQUIRES(token_);
  std::vector<Departure::Done> progress_of(int rank) const RONDE_REQUIRES(token_);
  Departure own_departure(std::string why) const RONDE_REQUIRES(token_);
  void finish_rounds(Deadline until);
  void tell(const Departure& departure, bool from_node) RONDE_REQUIRES(token_);
  void tell_rest() RONDE_REQUIRES(token_);
  bool say_goodbye(const Departure& leaving) RONDE_REQUIRES(token_);
  // No last words: nobody is told.
  void end(std::optional<std::string> last_words, const Error& why);

  const EngineOptions options_;
  const EngineHooks hooks_;
  const int rank_;
  const pid_t pid_ = getpid();
  const std::unique_ptr<Bootstrap> bootstrap_;
  ProcessEnd* const process_end_;  // the bootstrap's, if it has one
  int leaves_by_ = -1;             // what the process's end knows this by
  Peers peers_;
  const SpinPolicy spin_policy_;         // of the engine's thread, which may share a core with the program,
  const SpinPolicy caller_spin_policy_;  // and of a thread that has nothing to do but to wait
  std::size_t status_offset_ = 0;        // in everyone's arena
  Statistics statistics_ RONDE_GUARDED_BY(token_);
  int wanted_ RONDE_GUARDED_BY(token_) = 0;
  const std::shared_ptr<ProgramClock> clock_ = std::make_shared<ProgramClock>();  // outlives this with the tickets
  GroupContext context_;

  Mutex token_;
  std::atomic<bool> thread_wants_ = false;  // the engine's thread waits for the token
  // What a thread of the program waits for, asleep in the place of the engine's thread: rings wake that thread. None:
  // they wake the engine's.
  const Ticket* sleeper_ RONDE_GUARDED_BY(token_) = nullptr;
  std::vector<std::shared_ptr<GroupCore>> groups_ RONDE_GUARDED_BY(token_);
  std::shared_ptr<GroupCore> world_;

  Mutex inbox_mutex_;
  std::vector<Item> inbox_ RONDE_GUARDED_BY(inbox_mutex_);
  std::vector<Departed> departed_ RONDE_GUARDED_BY(inbox_mutex_);  // heard of, not yet noted
  std::set<int> gone_ RONDE_GUARDED_BY(inbox_mutex_);              // ranks that have been heard of
  std::optional<Error> closed_ RONDE_GUARDED_BY(inbox_mutex_);     // why nothing can be submitted
  bool sleeps_for_good_ RONDE_GUARDED_BY(inbox_mutex_) = false;    // the engine's thread looks at no clock
  int group_calls_ RONDE_GUARDED_BY(inbox_mutex_) = 0;
  std::atomic<bool> fresh_ = false;  // there is something in the inbox, or a departure

  static constexpr std::chrono::milliseconds kLongestNap{100};

  bool looks_often_ RONDE_GUARDED_BY(token_) = false;           // the engine's thread sleeps for milliseconds only,
  bool watches_gpus_ RONDE_GUARDED_BY(token_) = false;          // also because of GPUs
  bool naps_ RONDE_GUARDED_BY(token_) = false;                  // it sleeps for less, since MPI cannot wake it
  std::vector<Item> taken_ RONDE_GUARDED_BY(token_);            // drain()'s own; kept for its memory
  std::vector<Departure> departures_ RONDE_GUARDED_BY(token_);  // all so far,
  std::vector<int> gone_ranks_ RONDE_GUARDED_BY(token_);        // and of whom, ascending
  Untold untold_ RONDE_GUARDED_BY(token_);
  std::optional<Error> broken_ RONDE_GUARDED_BY(token_);    // why nothing works any more
  std::uint32_t groups_made_ RONDE_GUARDED_BY(token_) = 0;  // by all ranks together, the world not counted
  Slots slots_ RONDE_GUARDED_BY(token_);                    // of groups; the same on all ranks
  // What ranks of other nodes were doing when last heard of.
  std::map<int, std::string> doing_elsewhere_ RONDE_GUARDED_BY(token_);
  BackOff naps_back_off_ RONDE_GUARDED_BY(token_){
      {.shortest = std::chrono::microseconds(50), .longest = kLongestNap, .parts = 50}};
  BackOff gpus_back_off_ RONDE_GUARDED_BY(token_){
      {.shortest = std::chrono::milliseconds(10), .longest = kLongestNap, .parts = 50}};
  BackOff looks_back_off_ RONDE_GUARDED_BY(token_){
      {.shortest = std::chrono::milliseconds(10), .longest = std::chrono::milliseconds(150), .parts = 10}};
  BackOff polls_back_off_ RONDE_GUARDED_BY(token_){
      {.shortest = std::chrono::microseconds(200), .longest = std::chrono::milliseconds(150), .parts = 10}};

  Mutex end_mutex_;
  bool ended_ RONDE_GUARDED_BY(end_mutex_) = false;
  std::unique_ptr<Watchdog> watchdog_;
  std::jthread thread_;
};

// The channel of a group, by its number or its slot; and of what one member sends to another. Two ranks have no channel
// twice.
std::uint32_t channel_of(std::uint32_t number);
std::uint32_t pair_channel(std::uint32_t number, int sender, int receiver);

// Where a group's areas lie: one for the group, then for each member of this node one for what is sent to it and one
// for what comes from it. It is address space, and becomes memory when it is first used.
std::size_t areas_bytes(std::size_t members_here);
std::size_t pair_area(std::size_t place, bool outgoing);

}  // namespace ronde::comm::detail
