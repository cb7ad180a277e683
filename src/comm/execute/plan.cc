#include "ronde/comm/execute/plan.h"

#include <algorithm>

namespace ronde::comm::detail {
namespace {

constexpr std::size_t kLongestCycle = 200'000;  // a program that never repeats itself must not be remembered for ever

// Between fences: what the program waits for cannot come after what it asks for then.
void sort_by_name(std::vector<PlanItem>& order) {
  for (auto begin = order.begin(); begin != order.end();) {
    const auto end = std::find_if(begin + 1, order.end(), [](const PlanItem& item) { return item.fusion.fence; });
    const bool fence = begin->fusion.fence;
    begin->fusion.fence = false;
    std::ranges::stable_sort(begin, end, {}, &PlanItem::name);
    begin->fusion.fence = fence;
    begin = end;
  }
}

std::vector<std::uint64_t> unnamed_of(std::span<const PlanItem> items) {
  std::vector<std::uint64_t> signatures;
  for (const PlanItem& item : items)
    if (item.id == kNoId) signatures.push_back(item.signature);
  return signatures;
}

}  // namespace

std::optional<Plan> Planner::observe(std::span<const PlanItem> executed) {
  std::optional<Plan> plan;
  for (const PlanItem& item : executed) {
    if (item.id != kNoId && !seen_.insert(item.id).second) {
      last_ = std::move(cycle_);
      last_ids_.clear();
      for (const PlanItem& before : last_)
        if (before.id != kNoId) last_ids_.emplace(before.id, before.signature);
      cycle_.clear();
      seen_ = {item.id};
    }
    plan.reset();  // if there was one, it goes on differently
    cycle_.push_back(item);
    if (repeats()) {
      ++epoch_;
      plan = make_plan(cycle_);
    }
  }
  if (cycle_.size() > kLongestCycle) forget();
  return plan;
}

void Planner::forget() {
  cycle_.clear();
  last_.clear();
  seen_.clear();
  last_ids_.clear();
}

bool Planner::repeats() const {
  if (cycle_.size() != last_.size() || seen_.empty() || seen_.size() != last_ids_.size()) return false;
  const auto same = [&](const PlanItem& item) {
    if (item.id == kNoId) return true;
    const auto before = last_ids_.find(item.id);
    return before != last_ids_.end() && before->second == item.signature;
  };
  return std::ranges::all_of(cycle_, same) && unnamed_of(cycle_) == unnamed_of(last_);
}

Plan Planner::made_anew(const Plan& plan) {
  std::vector<PlanItem> order;
  for (const auto& bucket : plan.buckets) order.insert(order.end(), bucket.begin(), bucket.end());
  std::ranges::sort(order, {}, &PlanItem::order);
  ++epoch_;
  return make_plan(std::move(order));
}

Plan Planner::make_plan(std::vector<PlanItem> order) const {
  for (std::size_t i = 0; i < order.size(); ++i) order[i].order = i;
  // Requests without a name have none to be ordered by: they keep their own order, before the others.
  if (options_.by_name) sort_by_name(order);
  std::vector<FusionItem> items;
  for (const PlanItem& item : order) items.push_back(item.fusion);
  Plan plan{.epoch = epoch_, .buckets = {}};
  for (const auto& bucket : fuse(items, options_.limits)) {
    plan.buckets.emplace_back();
    for (const std::size_t position : bucket) plan.buckets.back().push_back(order[position]);
  }
  return plan;
}

PlanRun::PlanRun(Plan plan) : plan_(std::move(plan)) {
  for (std::size_t b = 0; b < plan_.buckets.size(); ++b) {
    const auto& bucket = plan_.buckets[b];
    missing_.push_back(bucket.size());
    units_.emplace_back(bucket.size(), nullptr);
    for (std::size_t i = 0; i < bucket.size(); ++i) {
      if (bucket[i].id == kNoId) {
        unnamed_.push_back({b, i});
        continue;
      }
      if (bucket[i].id >= places_.size()) places_.resize(bucket[i].id + 1);
      places_[bucket[i].id] = Place{b, i};
    }
  }
  // Fusion may have changed their order; what comes without a name is known by it.
  std::ranges::sort(unnamed_, {}, [&](const Place& place) { return plan_.buckets[place.bucket][place.index].order; });
}

std::optional<PlanRun::Place> PlanRun::place_of(const Unit& unit) const {
  if (!unit.key) {
    if (unnamed_.empty()) return {};
    return unnamed_[next_unnamed_ % unnamed_.size()];
  }
  if (unit.key->id >= places_.size()) return {};
  return places_[unit.key->id];
}

bool PlanRun::submit(Unit& unit) {
  const auto place = place_of(unit);
  if (!place || plan_.buckets[place->bucket][place->index].signature != unit.signature) return false;
  Unit*& here = units_[place->bucket][place->index];
  if (here) return false;
  here = &unit;
  ++held_;
  --missing_[place->bucket];
  if (!unit.key) ++next_unnamed_;
  if (unit.waited_for) close_up_to(*place);
  return true;
}

void PlanRun::close_up_to(const Place& place) {
  // A request of a bucket that has been passed belongs to the next step: everything up to it comes first.
  const std::size_t ahead = place.bucket >= current_ ? place.bucket : plan_.buckets.size() - 1;
  forced_ = std::max(forced_, ahead + 1);
}

void PlanRun::wait_for(const Unit& unit) {
  if (unit.key) return close_up_to(*place_of(unit));
  for (const Place& place : unnamed_)
    if (units_[place.bucket][place.index] == &unit) close_up_to(place);
}

std::optional<bool> PlanRun::vote() const {
  if (missing_[current_] == 0) return true;
  if (unplanned_ || current_ < forced_) return false;
  return {};
}

std::vector<Unit*> PlanRun::take() {
  std::vector<Unit*> taken(units_[current_].size(), nullptr);
  taken.swap(units_[current_]);
  missing_[current_] = taken.size();
  held_ -= taken.size();
  if (++current_ < plan_.buckets.size()) return taken;
  current_ = 0;
  forced_ = 0;
  for (std::size_t b = 0; b < units_.size(); ++b)
    for (const Unit* unit : units_[b])
      if (unit && unit->waited_for) forced_ = b + 1;
  return taken;
}

Unit* PlanRun::at_hand() const {
  const auto found = std::ranges::find_if(units_[current_], [](const Unit* unit) { return unit != nullptr; });
  return found == units_[current_].end() ? nullptr : *found;
}

std::vector<Unit*> PlanRun::here() const {
  std::vector<Unit*> here;
  for (const auto& bucket : units_)
    std::ranges::copy_if(bucket, std::back_inserter(here), [](const Unit* unit) { return unit != nullptr; });
  return here;
}

std::vector<RequestId> PlanRun::lacking() const {
  std::vector<RequestId> ids;
  for (std::size_t i = 0; i < units_[current_].size(); ++i)
    if (!units_[current_][i]) ids.push_back(plan_.buckets[current_][i].id);
  return ids;
}

}  // namespace ronde::comm::detail
