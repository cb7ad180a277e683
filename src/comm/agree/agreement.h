#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ronde/comm/agree/negotiation.h"
#include "ronde/comm/execute/plan.h"
#include "ronde/comm/execute/unit.h"
#include "ronde/comm/tune/tuning.h"

namespace ronde::comm::detail {

using Words = std::vector<std::uint64_t>;

struct AgreementOptions {
  int rank = 0;
  int size = 1;
  FusionLimits limits = {};
  bool deterministic = false;
};

// How one member of a group agrees with the others on what to do next. Decides only: it is fed with what the program
// does and with what came of each exchange, and says what to exchange. So all of it is tested without threads or links.
//
// Members go through rounds, all the same ones. A round begins when any member wants it, with an exchange in which
// everyone's words are combined by their minimum:
//
//   with a plan    one word, the vote on the plan's next bucket. All yes: it runs. Otherwise the plan is over.
//   without        who has joined, whether anyone reports a stall, and what is to be tuned. Then the leader (the lowest
//   member that has not
//                  joined) proposes what it has pending; everyone answers for each proposed request; the answers are
//                  combined, and everyone judges the same way. A request that the leader lacks cannot run yet, so
//                  nobody else needs to propose.
//
// What is exchanged does not grow with the number of members. Not thread-safe.
class Agreement {
 public:
  Agreement(const AgreementOptions& options, NameTable& names);

  // What the program does. Units stay where they are until they have been handed out.
  void submit(Unit& unit);
  void wait_for(Unit& unit);
  // Somebody should say who is missing; see stall_reported().
  void report_stall();
  // All members are to go on like this, from the next step on. A plan is ended for it where a step begins, and one of
  // the same requests takes its place at once. REQUIRES: one member alone says such things.
  void retune(const Tuning& tuning);

  bool planned() const { return run_.has_value(); }
  // With a plan: is its first bucket the next one? And what all its buckets hold.
  bool at_step_start() const { return run_ && run_->bucket() == 0; }
  std::size_t step_bytes() const { return step_bytes_; }
  // What all members have agreed on.
  const Tuning& tuning() const { return tuning_; }
  // Is anything here that others may be waiting for?
  bool holds_any() const { return !pending_.empty() || (run_ && !run_->empty()); }
  // Have I anything to say that a round is worth?
  bool wants_round() const;
  // How many more submissions cannot change that.
  std::size_t ignorable_submissions() const;

  // 1. Everyone: what I put into the opening. `refused`: another member is known to have voted no.
  Words open(bool refused);
  // What the combined words mean. FAILS WITH: System, when they name a member that there is not.
  enum class Opened { Runs, PlanOver, AllJoined, Negotiates, Retuned };
  Opened opened(std::span<const std::uint64_t> combined);
  // Without a plan: do they mean Retuned, so that no proposal follows? To be asked before opened().
  bool retunes(std::span<const std::uint64_t> combined) const;
  Bucket take_bucket();                             // after Runs
  int last_joined() const { return last_joined_; }  // after AllJoined: who came last; take_join() is what is done then
  Unit* take_join();
  std::uint64_t next_sequence() const { return next_sequence_; }  // after AllJoined: of requests without a name
  int leader() const { return leader_; }                          // after Negotiates
  bool stall_reported() const { return stall_reported_; }  // after Negotiates: somebody wants to know who is missing

  // 2. The leader: what it proposes.
  std::string propose();
  // 3. Everyone: answers to the proposal, kAnswerWords each. FAILS WITH: System or Bug, for what no leader proposes.
  Words answer(std::string_view proposal);
  // 4. What the combined answers mean. Ranks that ask for different things must be told so by the caller.
  struct Outcome {
    std::vector<Bucket> run = {};
    std::vector<std::size_t> differs = {};  // positions in the proposal
    bool more = false;                      // another proposal follows at once
  };
  Outcome judged(std::span<const std::uint64_t> combined);
  // The program has been told that members differ about it.
  void settle(std::size_t position);
  // What I asked for at a position of the proposal, nothing if I have joined without; and how it is called.
  Unit* proposed(std::size_t position) const { return units_.at(position); }
  std::string proposed_title(std::size_t position) const;

  // The group is over: what waits has been told.
  void forget_all();

  // What waits to be agreed on, in order of arrival.
  std::vector<Unit*> pending() const;
  // Something that the coming round is about; nothing when there is none.
  Unit* at_hand() const;
  // What waits under a name that title() gave.
  bool has(std::string_view title) const;
  // With a plan in force: what the next bucket lacks, by name.
  std::vector<std::string> lacking() const;
  std::uint64_t plans() const { return plans_; }
  // The promise of comm.static: the next bucket's vote without asking anyone.
  std::optional<bool> own_vote() const { return run_->vote(); }

 private:
  void give_up_plan();
  void follow(Plan plan);
  bool must_retune() const { return wish_ && at_step_start(); }
  void take_tuning(std::span<const std::uint64_t> combined);
  int member_of(std::uint64_t word) const;
  void check_proposal() const;
  void place_unnamed();
  Unit* find(const Proposal::Entry& entry, NameSlot*& slot);
  std::vector<Bucket> fuse_units(const std::vector<BucketItem>& running);
  void observe(const std::vector<BucketItem>& running, const std::vector<bool>& fences);

  const AgreementOptions options_;
  NameTable& names_;
  std::vector<Unit*> pending_;  // without a plan: all; with one: what is not in it. In order of arrival
  std::deque<Unit*> unnamed_;   // those of pending_ that have no name
  Planner planner_;
  std::optional<PlanRun> run_;
  std::size_t step_bytes_ = 0;  // of the plan
  Tuning tuning_;
  std::optional<Tuning> wish_;   // of this member, not yet told
  std::optional<Plan> retired_;  // given up in the round before, where a step begins
  std::uint64_t arrivals_ = 0, plans_ = 0, round_ = 0;
  bool news_ = false, stall_ = false, stall_reported_ = false;

  Unit* join_ = nullptr;            // the program has asked to join,
  std::uint64_t joined_round_ = 0;  // to be told in this round, or later
  bool joined_ = false;             // it has been told in this round
  bool somebody_joined_ = false;
  int leader_ = 0, last_joined_ = -1;

  std::uint64_t next_sequence_ = 0;
  std::uint64_t cycle_ = 1;       // of my program
  std::size_t cursor_ = 0;        // the leader: how many of pending_ this round has been through
  Proposal proposal_;             // the one that is being answered
  std::vector<Unit*> units_;      // my units for it; nullptr: I have none
  std::vector<NameSlot*> slots_;  // their names; nullptr: none
};

}  // namespace ronde::comm::detail
