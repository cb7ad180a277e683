#include "ronde/comm/detail/plan.h"

#include <algorithm>

namespace ronde::comm::detail {

std::optional<Plan> Planner::observe(std::span<const PlanItem> executed) {
  std::optional<Plan> plan;
  for (const PlanItem& item : executed) {
    if (!seen_.insert(item.id).second) {
      last_.clear();
      for (const PlanItem& before : cycle_) last_.emplace(before.id, before.signature);
      cycle_.clear();
      seen_ = {item.id};
      plan.reset();  // it went on differently
    }
    cycle_.push_back(item);
    if (repeats()) plan = make_plan();
  }
  return plan;
}

void Planner::forget() {
  cycle_.clear();
  seen_.clear();
  last_.clear();
}

bool Planner::repeats() const {
  const auto same = [&](const PlanItem& item) {
    const auto before = last_.find(item.id);
    return before != last_.end() && before->second == item.signature;
  };
  return cycle_.size() == last_.size() && std::ranges::all_of(cycle_, same);
}

Plan Planner::make_plan() {
  std::vector<FusionItem> items;
  for (const PlanItem& item : cycle_) items.push_back(item.fusion);
  Plan plan{.epoch = ++epoch_, .buckets = {}};
  for (const auto& bucket : fuse(items, limits_)) {
    plan.buckets.emplace_back();
    for (const std::size_t position : bucket) plan.buckets.back().push_back(cycle_[position]);
  }
  return plan;
}

PlanRun::PlanRun(const Plan& plan) : plan_(plan) {
  for (std::size_t b = 0; b < plan.buckets.size(); ++b) {
    missing_.push_back(plan.buckets[b].size());
    for (const PlanItem& item : plan.buckets[b]) places_.emplace(item.id, Place{b, item.signature});
  }
}

bool PlanRun::submit(RequestId id, std::uint64_t signature) {
  const auto place = places_.find(id);
  if (place == places_.end() || place->second.signature != signature || !here_.insert(id).second) return false;
  --missing_[place->second.bucket];
  return true;
}

void PlanRun::wait_for(RequestId id) {
  const auto place = places_.find(id);
  if (place == places_.end()) return wait_for_stranger();
  // A request of a bucket that has been passed belongs to the next step: everything up to it comes first.
  const std::size_t bucket = place->second.bucket;
  const std::size_t ahead = bucket >= current_ ? bucket : plan_.buckets.size() - 1;
  forced_ = std::max(forced_, ahead + 1);
}

void PlanRun::wait_for_stranger() {
  stranger_ = true;
}

std::optional<bool> PlanRun::vote() const {
  if (missing_[current_] == 0) return true;
  if (stranger_ || current_ < forced_) return false;
  return {};
}

void PlanRun::next() {
  for (const PlanItem& item : plan_.buckets[current_]) here_.erase(item.id);
  missing_[current_] = plan_.buckets[current_].size();
  if (++current_ < plan_.buckets.size()) return;
  current_ = 0;
  forced_ = 0;
}

}  // namespace ronde::comm::detail
