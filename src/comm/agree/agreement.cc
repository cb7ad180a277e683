#include "ronde/comm/agree/agreement.h"

#include <algorithm>
#include <utility>

#include "ronde/base/error.h"
#include "ronde/base/text/format.h"

namespace ronde::comm::detail {
namespace {

constexpr std::size_t kMostEntries = 340;    // in one proposal; bounds the size of all messages
constexpr std::size_t kMostNames = 1 << 16;  // that are remembered; a program may invent new ones for ever

// The opening without a plan. Word 0: the leader. Word 1: the complement of the latest to join (round and rank, plus
// one). Word 2: 0 when anyone reports a stall. Word 3: the complement of how many requests without a name there were.
// Words 4 to 6: a new tuning; its largest word says that there is none.
enum OpeningWord { kLeader, kLatestJoin, kNoStall, kMostUnnamed, kBytes, kFirstBytes, kAlgorithm, kOpeningWords };
constexpr std::uint64_t kRankBits = 20;
constexpr std::uint64_t kRankMask = (std::uint64_t{1} << kRankBits) - 1;

}  // namespace

Agreement::Agreement(const AgreementOptions& options, NameTable& names)
    : options_(options),
      names_(names),
      planner_({.limits = options.limits, .by_name = options.deterministic}),
      tuning_{.limits = options.limits} {}

void Agreement::submit(Unit& unit) {
  unit.arrival = arrivals_++;
  if (unit.description.operation == Operation::Join) {
    join_ = &unit;
    joined_round_ = round_ + 1;
    news_ = true;
    if (run_) run_->wait_for_unplanned();
    return;
  }
  if (unit.key) {
    unit.key->unit = &unit;
    // A name that comes again begins a new cycle: that the last one was waited for parts nothing in this one.
    if (unit.key->cycle == cycle_) {
      ++cycle_;
      unit.fence = false;
    }
    unit.key->cycle = cycle_;
  }
  if (!unit.key) next_sequence_ = unit.sequence + 1;
  // What came without a name before it and found no place in the plan goes first.
  if (run_ && (unit.key || unnamed_.empty()) && run_->submit(unit)) return;
  pending_.push_back(&unit);
  if (!unit.key) unnamed_.push_back(&unit);
  news_ = true;
}

void Agreement::wait_for(Unit& unit) {
  if (unit.agreed || unit.waited_for) return;
  unit.waited_for = true;
  if (!run_ || unit.description.operation == Operation::Join) return;
  if (std::ranges::binary_search(pending_, unit.arrival, {}, &Unit::arrival)) {
    run_->wait_for_unplanned();
  } else {
    run_->wait_for(unit);
  }
}

void Agreement::report_stall() {
  stall_ = true;
  news_ = true;
  if (run_) run_->wait_for_unplanned();
}

void Agreement::retune(const Tuning& tuning) {
  wish_ = tuning;
}

bool Agreement::wants_round() const {
  return run_ ? must_retune() || run_->vote().has_value() : news_;
}

std::size_t Agreement::ignorable_submissions() const {
  return run_ && !run_->vote() ? run_->missing() - 1 : 0;
}

Words Agreement::open(bool refused) {
  ++round_;
  if (run_) return {!refused && !must_retune() && run_->vote().value_or(false) ? run_->plan().epoch : 0};
  news_ = false;
  cursor_ = 0;
  joined_ = join_ != nullptr;
  Words words(kOpeningWords, kAll);
  const auto rank = static_cast<std::uint64_t>(options_.rank);
  words[kMostUnnamed] = ~next_sequence_;
  if (joined_) words[kLatestJoin] = ~((joined_round_ << kRankBits | rank) + 1);
  // Who has joined leads only when all have, to bring to an end what it asked for before; then it has no part left.
  if (!joined_) words[kLeader] = rank;
  if (joined_ && !pending_.empty()) words[kLeader] = rank | std::uint64_t{1} << kRankBits;
  if (stall_) words[kNoStall] = 0;
  if (wish_) {
    words[kBytes] = wish_->limits.bytes;
    words[kFirstBytes] = wish_->limits.first_bytes;
    words[kAlgorithm] = wish_->algorithm;
    wish_.reset();
  }
  return words;
}

Agreement::Opened Agreement::opened(std::span<const std::uint64_t> combined) {
  if (run_) {
    if (combined[0] != 0) return Opened::Runs;
    give_up_plan();
    return Opened::PlanOver;
  }
  somebody_joined_ = combined[kLatestJoin] != kAll;
  if (somebody_joined_) planner_.forget();
  stall_reported_ = combined[kNoStall] == 0;
  if (stall_reported_) stall_ = false;
  take_tuning(combined);
  const bool plan_anew = retunes(combined);
  const std::optional<Plan> before = std::exchange(retired_, std::nullopt);
  if (plan_anew) {
    follow(planner_.made_anew(*before));
    return Opened::Retuned;
  }
  if (combined[kLeader] == kAll) {
    last_joined_ = member_of(~combined[kLatestJoin] - 1);
    next_sequence_ = ~combined[kMostUnnamed];  // members that have missed some catch up
    return Opened::AllJoined;
  }
  leader_ = member_of(combined[kLeader]);
  return Opened::Negotiates;
}

// The member whose number is in the lowest bits: told by others, and counted with.
int Agreement::member_of(std::uint64_t word) const {
  const auto member = static_cast<int>(word & kRankMask);
  if (member < options_.size) return member;
  throw Error(Error::Kind::System, fmt::format("a rank told of member {} of a group of {}", member, options_.size));
}

// What else there is to be said goes first; the plan then comes back as plans come.
bool Agreement::retunes(std::span<const std::uint64_t> combined) const {
  return combined[kBytes] != kAll && retired_ && combined[kLatestJoin] == kAll && combined[kNoStall] != 0;
}

void Agreement::take_tuning(std::span<const std::uint64_t> combined) {
  if (combined[kBytes] == kAll) return;
  tuning_ = {.limits = {.bytes = combined[kBytes], .first_bytes = combined[kFirstBytes]},
             .algorithm = combined[kAlgorithm]};
  planner_.set_limits(tuning_.limits);
}

Unit* Agreement::take_join() {
  somebody_joined_ = false;
  return std::exchange(join_, nullptr);
}

Bucket Agreement::take_bucket() {
  Bucket bucket;
  for (Unit* unit : run_->take()) {
    unit->agreed = true;
    if (unit->key) unit->key->unit = nullptr;
    bucket.push_back({unit, {}});
  }
  if (run_->has_unnamed()) place_unnamed();
  return bucket;
}

// Places in the plan have become free.
void Agreement::place_unnamed() {
  while (!unnamed_.empty() && run_->submit(*unnamed_.front())) {
    std::erase(pending_, unnamed_.front());
    unnamed_.pop_front();
  }
}

void Agreement::give_up_plan() {
  for (Unit* unit : run_->here()) {
    pending_.push_back(unit);
    if (!unit->key) unnamed_.push_back(unit);
  }
  std::ranges::sort(pending_, {}, &Unit::arrival);
  std::ranges::sort(unnamed_, {}, &Unit::arrival);
  if (at_step_start()) retired_ = run_->plan();
  run_.reset();
  planner_.forget();
  news_ = true;
}

void Agreement::follow(Plan plan) {
  ++plans_;
  step_bytes_ = 0;
  for (const auto& bucket : plan.buckets)
    for (const PlanItem& item : bucket) step_bytes_ += item.fusion.bytes;
  run_.emplace(std::move(plan));
  std::vector<Unit*> waiting;
  waiting.swap(pending_);
  unnamed_.clear();
  for (Unit* unit : waiting) {
    if ((unit->key || unnamed_.empty()) && run_->submit(*unit)) continue;
    pending_.push_back(unit);
    if (!unit->key) unnamed_.push_back(unit);
    if (unit->waited_for) run_->wait_for_unplanned();
  }
  if (join_ || stall_) run_->wait_for_unplanned();
}

std::string Agreement::propose() {
  Proposal proposal;
  const std::size_t end = std::min(pending_.size(), cursor_ + kMostEntries);
  for (std::size_t i = cursor_; i < end; ++i) {
    const Unit& unit = *pending_[i];
    Proposal::Entry entry;
    if (!unit.key) {
      entry.sequence = unit.sequence;
    } else if (unit.key->id == kNoId) {
      entry.name = unit.key->name;
    } else {
      entry.id = unit.key->id;
    }
    if (somebody_joined_) entry.content = content_of(unit);
    proposal.entries.push_back(std::move(entry));
  }
  proposal.more = end < pending_.size();
  return write_proposal(proposal);
}

Unit* Agreement::find(const Proposal::Entry& entry, NameSlot*& slot) {
  slot = nullptr;
  if (!entry.name.empty()) slot = &names_.learn(entry.name);
  if (entry.id != kNoId) slot = &names_.at(entry.id);
  if (slot) return slot->unit;
  const auto found = std::ranges::lower_bound(unnamed_, entry.sequence, {}, &Unit::sequence);
  return found != unnamed_.end() && (*found)->sequence == entry.sequence ? *found : nullptr;
}

// What a leader of this job never proposes: more than a link combines at once, or a name that has not been told.
void Agreement::check_proposal() const {
  const auto fail = [](const std::string& how) { throw Error(Error::Kind::System, "a rank proposed " + how); };
  if (proposal_.entries.size() > kMostEntries)
    fail(fmt::format("{} requests at once, and {} are the most", proposal_.entries.size(), kMostEntries));
  for (const auto& entry : proposal_.entries)
    if (entry.name.empty() && entry.id != kNoId && entry.id >= names_.agreed())
      fail(fmt::format("name {}, and {} are known", entry.id, names_.agreed()));
}

Words Agreement::answer(std::string_view proposal) {
  proposal_ = read_proposal(proposal);
  check_proposal();
  units_.clear();
  slots_.clear();
  Words words;
  for (const auto& entry : proposal_.entries) {
    NameSlot* slot = nullptr;
    Unit* unit = find(entry, slot);
    Answer answer = kNotReady;
    if (unit) {
      answer = ready(unit->signature, unit->fence);
    } else if (joined_) {
      answer = std::ranges::all_of(entry.content, joinable) ? kJoined : kJoinedRefuses;
    }
    words.insert(words.end(), {answer.low, answer.high_complement, answer.no_fence});
    units_.push_back(unit);
    slots_.push_back(slot);
  }
  std::vector<const Unit*> mine(units_.begin(), units_.end());
  std::erase(mine, nullptr);
  std::ranges::sort(mine);
  if (std::ranges::adjacent_find(mine) != mine.end())
    throw Error(Error::Kind::System, "a rank proposed one request twice");
  return words;
}

Agreement::Outcome Agreement::judged(std::span<const std::uint64_t> combined) {
  Outcome outcome{.run = {}, .differs = {}, .more = proposal_.more};
  std::vector<BucketItem> running;
  std::vector<bool> fences;  // by position in running
  std::size_t waiting = 0;
  for (std::size_t i = 0; i < units_.size(); ++i) {
    const auto said = combined.subspan(i * kAnswerWords, kAnswerWords);
    const Verdict verdict = judge({said[0], said[1], said[2]});
    if (verdict == Verdict::Wait) ++waiting;
    if (verdict == Verdict::Wait) continue;
    if (verdict == Verdict::Differs) outcome.differs.push_back(i);  // stays pending until the program has been told
    if (verdict == Verdict::Differs) continue;
    running.push_back({units_[i], {}});
    if (!units_[i]) running.back().descriptions = std::move(proposal_.entries[i].content);
    fences.push_back(said[2] == 0);
    if (!units_[i]) continue;
    units_[i]->agreed = true;
    if (slots_[i]) slots_[i]->unit = nullptr;
  }
  cursor_ += waiting;
  // Who has joined may have nothing left now, which the others must learn.
  if (somebody_joined_ && waiting < units_.size()) news_ = true;
  std::erase_if(pending_, [](const Unit* unit) { return unit->agreed; });
  std::erase_if(unnamed_, [](const Unit* unit) { return unit->agreed; });
  outcome.run = fuse_units(running);
  // Members that have joined know too little for a plan; and what differs would have to be kept out of it.
  if (!somebody_joined_ && outcome.differs.empty()) observe(running, fences);
  return outcome;
}

void Agreement::settle(std::size_t position) {
  Unit* unit = units_.at(position);
  if (!unit) return;
  unit->agreed = true;
  if (slots_[position]) slots_[position]->unit = nullptr;
  std::erase(pending_, unit);
  std::erase(unnamed_, unit);
}

std::vector<Bucket> Agreement::fuse_units(const std::vector<BucketItem>& running) {
  std::vector<FusionItem> items;
  for (const BucketItem& item : running) items.push_back(fusion_of(item));
  std::vector<Bucket> buckets;
  for (const auto& positions : fuse(items, tuning_.limits)) {
    buckets.emplace_back();
    for (const std::size_t position : positions) buckets.back().push_back(running[position]);
  }
  return buckets;
}

// Looks for a plan.
void Agreement::observe(const std::vector<BucketItem>& running, const std::vector<bool>& fences) {
  std::vector<PlanItem> items;
  for (std::size_t i = 0; i < running.size(); ++i) {
    const Unit& unit = *running[i].unit;
    items.push_back({.id = unit.key ? unit.key->id : kNoId,
                     .signature = unit.signature,
                     .fusion = unit.fusion,
                     .name = unit.key ? unit.key->name : std::string_view()});
    items.back().fusion.fence = fences[i];
  }
  auto plan = planner_.observe(items);
  if (plan && !proposal_.more) {
    follow(std::move(*plan));
  } else if (!proposal_.more && names_.agreed() > kMostNames) {
    planner_.forget();
    names_.forget();
  }
}

std::string Agreement::proposed_title(std::size_t position) const {
  if (const Unit* unit = units_.at(position)) return title(*unit);
  if (const NameSlot* slot = slots_.at(position)) return fmt::format("'{}'", slot->name);
  return fmt::format("request {} without a name", proposal_.entries.at(position).sequence);
}

void Agreement::forget_all() {
  run_.reset();
  retired_.reset();
  wish_.reset();
  pending_.clear();
  unnamed_.clear();
  news_ = false;
}

std::vector<Unit*> Agreement::pending() const {
  std::vector<Unit*> all = pending_;
  if (!run_) return all;
  std::ranges::copy(run_->here(), std::back_inserter(all));
  std::ranges::sort(all, {}, &Unit::arrival);
  return all;
}

Unit* Agreement::at_hand() const {
  if (run_) return run_->at_hand();
  return pending_.empty() ? nullptr : pending_.front();
}

bool Agreement::has(std::string_view wanted) const {
  return std::ranges::any_of(pending(), [&](const Unit* unit) { return title(*unit) == wanted; });
}

std::vector<std::string> Agreement::lacking() const {
  std::vector<std::string> names;
  for (const RequestId id : run_->lacking())
    names.push_back(id == kNoId ? "a request without a name" : fmt::format("'{}'", names_.at(id).name));
  return names;
}

}  // namespace ronde::comm::detail
