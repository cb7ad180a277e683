#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ronde/comm/agree/agreement.h"
#include "ronde/comm/engine/engine_hooks.h"
#include "ronde/comm/engine/ticket.h"
#include "ronde/comm/execute/execute.h"
#include "ronde/comm/execute/group_trace.h"
#include "ronde/comm/gpu/device_path.h"
#include "ronde/comm/gpu/nccl_path.h"
#include "ronde/comm/link/link.h"
#include "ronde/comm/link/shm/node.h"
#include "ronde/comm/tune/tuner.h"
#include "ronde/comm/watch/departure.h"
#include "ronde/comm/watch/stall.h"

namespace ronde::comm::detail {

// What groups need of the engine around them. Outlives them.
struct GroupContext {
  const EngineOptions& options;
  const EngineHooks& hooks;
  const NcclPathOptions nccl;
  Node& node;
  Statistics& statistics;
  int& wanted;                                 // requests that the program waits for or polls, in all groups
  const std::atomic<std::uint64_t>& looks;     // see NameTable
  std::function<std::string(int rank)> who;    // "rank 1 on b2 (pid 7)"
  std::function<bool(int rank)> stopped;       // by a signal or a debugger, as far as this node can see
  std::function<std::string(int rank)> doing;  // "step 3, last request allreduce 'w' 2 s ago"
  // Runs what makes and drops groups.
  std::function<Task(GroupCore& group, Ticket& ticket)> run_special;
};

// One rank's part in one group: agrees with the other members, and moves what has been agreed on. Two resumable tasks,
// so that agreeing goes on while data moves. All but the first section belongs to whoever carries the engine's work.
class GroupCore {
 public:
  // Without a link: this rank is no member.
  GroupCore(GroupContext& context, std::string title, std::shared_ptr<const std::vector<int>> ranks,
            std::unique_ptr<Link> link);

  // --- for any thread
  const std::string& title() const { return title_; }
  const std::vector<int>& ranks() const { return *ranks_; }
  int rank() const { return link_ ? link_->rank() : -1; }
  int size() const { return static_cast<int>(ranks_->size()); }
  NameTable& names() { return names_; }
  // Why nothing can be submitted any more.
  std::optional<Error> refusal() const;

  // Written by submitters, under the lock of the engine's inbox.
  struct Outside {
    std::uint64_t waits = 0;                // of the program, at the last submission
    std::size_t ignorable_submissions = 0;  // so many more submissions are not worth waking the engine
    bool dropped = false;
    // What one member sends to another is a group of two of its own, one each way; made when first needed. By sender
    // and receiver, as members.
    std::map<std::pair<int, int>, std::shared_ptr<GroupCore>> pairs = {};
  };
  Outside outside;
  std::atomic<int> live = 0;  // requests on their way
  std::atomic<std::uint64_t> next_unnamed = 0;
  std::atomic<bool> joined = false;  // this rank has joined
  std::string made_by;               // the call that made it: tells groups of the same ranks apart
  std::vector<int> here;             // members on this node
  std::vector<std::size_t> areas;    // of these: where its areas lie in its arena
  std::byte* own_area = nullptr;     // of this rank's, if it is this group's alone: given back when it is dropped
  std::uint32_t number = 0;          // of the groups that all ranks know; the world has 0
  std::uint32_t slot = 0;            // the same, but used again when the group is dropped
  std::uint32_t channel = 0;         // of messages between nodes; the same on all members
  bool is_pair = false;              // what one member sends to another: all that go one way share a channel

  // --- for the engine
  bool known = false;  // it is in the engine's list
  void measure_clocks() { measures_clocks_ = true; }
  // Looks for the best tuning while the program trains, if the options ask for it. The members are on so many nodes.
  void autotune(int nodes);
  void submit(Ticket& first) { agreement_.submit(first); }
  void wait_for(Ticket& ticket);
  // How much work the calling thread is willing to do: all of it; or only to agree and to move what is small.
  enum class Effort { All, Little };
  bool can_advance(Effort effort) const;
  bool advance(Effort effort);  // true when it got any further
  bool moving() const { return !queue_.empty(); }
  bool under_way() const { return moving() || round_began_.count() > 0; }
  // The others need this member's words for a round in which nothing of its own is left.
  bool owes_words() const { return agreeing_ && round_began_.count() > 0 && live.load(std::memory_order_relaxed) == 0; }
  // Peers that keep step need a microsecond for what is under way.
  bool ends_soon() const {
    return link_ && link_->near() && (round_began_.count() > 0 || (moving() && worth_moving(Effort::Little)));
  }
  // The program has submitted a part of a bucket, and waits for something in another group.
  bool waits_elsewhere() const;
  bool idle() const { return live.load(std::memory_order_relaxed) == 0 && !nccl_path_.must_be_watched(); }
  bool polls() const { return nccl_path_.polls(); }  // it waits for something that wakes nobody
  bool on_gpus() const { return device_path_.copies() || nccl_path_.must_be_watched(); }
  std::size_t ignorable_submissions() const { return agreement_.ignorable_submissions(); }
  Link& link() { return *link_; }
  NcclPath& nccl_path() { return nccl_path_; }
  Traffic traffic() const { return link_->traffic(); }
  std::uint64_t plans() const { return agreement_.plans(); }

  // A member has gone: what it has not done its part in fails, and so does what comes later.
  void on_departure(const Departure& departure);
  // How far a member of this node is, even if it has gone.
  Departure::Done done_of(int member) const {
    return {.channel = channel,
            .partner = partner_of(member),
            .rounds = link_->rounds_of(member),
            .buckets = link_->buckets_of(member)};
  }
  // A submission that came after the group's end. REQUIRES: refusal().
  void reject(Ticket& first);
  // Everything here fails.
  void fail(const Error& why);
  // The group is dropped: nothing is looked at any more.
  void stop();
  // Looks for what waits for too long.
  void check_stall(std::chrono::nanoseconds now);

 private:
  using Why = std::function<Error(const Ticket&)>;

  // The other rank of a pair; -1 in other groups.
  int partner_of(int member) const { return is_pair ? rank_of(member == 0 ? 1 : 0) : -1; }
  int rank_of(int member) const { return (*ranks_)[static_cast<std::size_t>(member)]; }
  bool must_refuse() const;
  Task agree();
  Task agree_once();
  Task negotiate();
  Task explain(std::size_t position);
  Task report_stall();
  void tune();
  void check_silence(std::chrono::nanoseconds elapsed);
  void check_motion(std::chrono::nanoseconds now);
  void tell_stalls(const std::vector<Stall>& stalls, const std::vector<StallAnswer>& answers);
  Task move();
  Task move_one(const std::vector<Work>& works);
  Task move_on_gpu(std::vector<Work> works, bool fused);
  void watch_streams(std::chrono::nanoseconds now);

  void run(Bucket bucket);
  void finish(Ticket& ticket);
  void fail_unit(Unit& first, const Why& why);
  void stop_agreeing(const Why& why);
  void stop_moving(const Why& why);
  void check_departures();
  void refuse(const Error& why);
  bool worth_moving(Effort effort) const;
  void advance_task(Task& task, bool is_move);
  void come_into(Phase phase) const;

  GroupContext& context_;
  const std::string title_;
  const std::shared_ptr<const std::vector<int>> ranks_;  // of the job, by member
  const std::unique_ptr<Link> link_;
  NameTable names_;
  Agreement agreement_;
  Scratch scratch_;
  DevicePath device_path_;
  NcclPath nccl_path_;
  struct Queued {
    Bucket bucket;
    std::size_t bytes;
    std::size_t algorithm;
  };
  std::deque<Queued> queue_;  // agreed on; the first is being moved
  Task agreeing_, moving_;
  std::uint64_t rounds_ = 0, buckets_ = 0;  // done
  int wanted_ = 0;                          // requests that the program waits for or polls, in this group
  struct Gone {
    int member = 0;
    Departure how;
  };
  std::vector<Gone> departures_;

  std::atomic<bool> refuses_ = false;
  std::optional<Error> refusal_;  // written once, before refuses_

  std::chrono::nanoseconds stall_reported_{0};  // when last
  std::chrono::nanoseconds round_began_{0};     // zero: none is under way
  bool silence_reported_ = false;
  std::chrono::nanoseconds asked_{0};  // about who is silent: when last, since the round began,
  int asking_costs_ = 0;               // in messages
  bool woken_ = false;                 // those of this node that are silent have been
  // What is moving: how often it got further, how often it had when last looked at, and since when it has not.
  std::uint64_t moves_ = 0, moves_seen_ = 0;
  std::chrono::nanoseconds still_since_{0};
  bool stillness_reported_ = false;
  bool measures_clocks_ = false;
  std::unique_ptr<Tuner> tuner_;  // on member 0, when there is something to tune

  GroupTrace trace_;
};

}  // namespace ronde::comm::detail
