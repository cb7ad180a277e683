#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ronde/comm/execute/fusion.h"
#include "ronde/comm/execute/unit.h"

namespace ronde::comm::detail {

// A unit that was agreed on, as the planner remembers it.
struct PlanItem {
  RequestId id = kNoId;         // kNoId: without a name
  std::uint64_t signature = 0;  // everything that members must agree on
  FusionItem fusion = {};
  std::string_view name = {};  // orders a deterministic plan; must outlive the planning
  std::size_t order = 0;       // in the cycle that became the plan; set by the planner
};

// The agreed order and fusion of requests that come again and again, such as the gradients of a step.
struct Plan {
  std::uint64_t epoch = 0;                     // which plan this is; votes carry it
  std::vector<std::vector<PlanItem>> buckets;  // in the order in which they are voted on
};

struct PlannerOptions {
  FusionLimits limits = {};
  bool by_name = false;  // the plan's order is that of the names, whatever the order of readiness
};

// Finds out that requests repeat. Fed with what the group has executed, which is the same on every member in the same
// order, so every member makes the same plan without a word.
//
// A cycle ends when a name comes that it already has. When a cycle has the same requests as the one before, it becomes
// the plan, in its own order, which is that of readiness. Requests without a name have their place in a cycle by their
// order; without any name there is no telling where a cycle ends, and no plan.
class Planner {
 public:
  explicit Planner(PlannerOptions options) : options_(options) {}

  // What has just been executed. A plan, when it completes one.
  std::optional<Plan> observe(std::span<const PlanItem> executed);
  // The plan did not hold: what has been learnt is forgotten.
  void forget();

  // From now on. REQUIRES: at the same point on every member.
  void set_limits(const FusionLimits& limits) { options_.limits = limits; }
  // A plan of the same requests in the same order, as the limits now want it.
  Plan made_anew(const Plan& plan);

 private:
  bool repeats() const;
  Plan make_plan(std::vector<PlanItem> order) const;

  PlannerOptions options_;
  std::uint64_t epoch_ = 0;
  std::vector<PlanItem> cycle_, last_;                     // this one so far, and the one before
  std::unordered_set<RequestId> seen_;                     // the ids of this one
  std::unordered_map<RequestId, std::uint64_t> last_ids_;  // of the one before: id -> signature
};

// One member's way through a plan. Decides how to vote on the next bucket; knows neither threads nor links.
//
// A bucket closes when it is complete, or when the program waits for something that cannot come before it. Closed
// incomplete is a "no".
class PlanRun {
 public:
  explicit PlanRun(Plan plan);

  // A unit came in. False when it is not what the plan expects: unknown, of another signature, or here already.
  bool submit(Unit& unit);
  // The program waits for, or polls, this unit, which submit() has taken; or one that is not in the plan at all. That
  // one cannot come before the plan is given up: from then on every bucket that is not complete is closed.
  void wait_for(const Unit& unit);
  void wait_for_unplanned() { unplanned_ = true; }

  // How I vote on the current bucket, if it is closed.
  std::optional<bool> vote() const;
  // Everyone voted yes: what runs. After the last bucket comes the first, of the next step.
  std::vector<Unit*> take();
  // What has been submitted and not taken, in no order.
  std::vector<Unit*> here() const;

  // One of the current bucket's; nothing when none is here.
  Unit* at_hand() const;

  const Plan& plan() const { return plan_; }
  std::size_t bucket() const { return current_; }
  std::size_t missing() const { return missing_[current_]; }  // in the current bucket
  bool empty() const { return held_ == 0; }                   // nothing is here, in any bucket
  bool has_unnamed() const { return !unnamed_.empty(); }
  // Names of what the current bucket still lacks.
  std::vector<RequestId> lacking() const;

 private:
  struct Place {
    std::size_t bucket = 0, index = 0;
  };
  std::optional<Place> place_of(const Unit& unit) const;
  void close_up_to(const Place& place);

  Plan plan_;
  std::vector<std::optional<Place>> places_;  // by id
  std::vector<Place> unnamed_;                // in their order
  std::vector<std::vector<Unit*>> units_;     // by bucket and index; nullptr: not here yet
  std::vector<std::size_t> missing_;          // by bucket
  std::size_t next_unnamed_ = 0;
  std::size_t held_ = 0;  // units that are here
  std::size_t current_ = 0;
  std::size_t forced_ = 0;  // buckets before this one are closed, complete or not
  bool unplanned_ = false;  // the program waits for a request outside the plan
};

}  // namespace ronde::comm::detail
