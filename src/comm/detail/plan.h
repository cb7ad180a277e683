#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ronde/comm/detail/fusion.h"
#include "ronde/comm/detail/negotiation.h"

namespace ronde::comm::detail {

// A request that was agreed on, as the planner remembers it.
struct PlanItem {
  RequestId id = 0;
  std::uint64_t signature = 0;  // everything that members must agree on
  FusionItem fusion = {};
};

// The agreed order and fusion of requests that come again and again, such as the gradients of a step.
struct Plan {
  std::uint64_t epoch = 0;                     // which plan this is; votes carry it
  std::vector<std::vector<PlanItem>> buckets;  // in the order in which they are voted on
};

// Finds out that requests repeat. Fed with what the group has executed, which is the same on every member in the same
// order, so every member makes the same plan without a word.
//
// A cycle ends when a request comes that it already has. When a cycle has the same requests as the one before, it
// becomes the plan, in its own order, which is that of readiness.
class Planner {
 public:
  explicit Planner(FusionLimits limits) : limits_(limits) {}

  // Requests that have just been executed. A plan, when they complete one.
  std::optional<Plan> observe(std::span<const PlanItem> executed);
  // The plan did not hold: what has been learnt is forgotten.
  void forget();

 private:
  bool repeats() const;
  Plan make_plan();

  FusionLimits limits_;
  std::uint64_t epoch_ = 0;
  std::vector<PlanItem> cycle_;                        // this one so far
  std::unordered_set<RequestId> seen_;                 // its ids
  std::unordered_map<RequestId, std::uint64_t> last_;  // the one before: id -> signature
};

// One member's way through a plan. Decides how to vote on the next bucket; knows neither threads nor links.
//
// A bucket closes when it is complete, or when the program waits for something that cannot come before it. Closed
// incomplete is a "no".
class PlanRun {
 public:
  // REQUIRES: `plan` outlives it.
  explicit PlanRun(const Plan& plan);

  // A request came in. False when it is not what the plan expects: unknown, of another signature, or here already.
  bool submit(RequestId id, std::uint64_t signature);
  // The program waits for, or polls, this request; or for one that is not in the plan at all. That one cannot come
  // before the plan is given up: from then on every bucket that is not complete is closed.
  void wait_for(RequestId id);
  void wait_for_stranger();

  // How I vote on the current bucket, if it is closed.
  std::optional<bool> vote() const;
  // Everyone voted yes. After the last bucket comes the first, of the next step.
  void next();
  std::size_t bucket() const { return current_; }

 private:
  struct Place {
    std::size_t bucket;
    std::uint64_t signature;
  };

  const Plan& plan_;
  std::unordered_map<RequestId, Place> places_;
  std::unordered_set<RequestId> here_;  // submitted, bucket not passed yet
  std::vector<std::size_t> missing_;    // by bucket
  std::size_t current_ = 0;
  std::size_t forced_ = 0;  // buckets before this one are closed, complete or not
  bool stranger_ = false;   // the program waits for a request outside the plan
};

}  // namespace ronde::comm::detail
