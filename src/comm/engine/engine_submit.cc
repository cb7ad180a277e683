// How requests come into the engine.
#include <algorithm>

#include "ronde/base/system/clock.h"
#include "ronde/base/system/mutex.h"
#include "ronde/comm/agree/validate.h"
#include "ronde/comm/engine/engine_core.h"
#include "ronde/comm/execute/staging.h"

namespace ronde::comm::detail {
namespace {

// Requests that are submitted together are known by their names together.
std::string joint_name(const std::vector<std::shared_ptr<Ticket>>& tickets) {
  std::uint64_t hash = tickets.size();
  for (const auto& ticket : tickets) hash = combined_signature(hash, std::hash<std::string>{}(ticket->request.name));
  return fmt::format("{} and {} more ({:x})", tickets.front()->request.name, tickets.size() - 1, hash);
}

bool between_two(const Request& request) {
  return request.operation == Operation::Send || request.operation == Operation::Receive;
}

}  // namespace

void EngineCore::check_open(const GroupCore& group) const {
  check_member(group);
  if (const auto refusal = group.refusal()) throw *refusal;
}

void EngineCore::check_member(const GroupCore& group) const {
  if (group.rank() < 0) throw Error::bad_input("rank {} is not a member of {}", rank_, group.title());
  if (group.joined.load(std::memory_order_acquire))
    throw Error::bad_input("rank {} has joined {}; nothing can be submitted until the join is complete", rank_,
                           group.title());
}

std::shared_ptr<Ticket> EngineCore::make_ticket(Request request, const std::shared_ptr<GroupCore>& group, int rank) {
  auto ticket = std::make_shared<Ticket>();
  ticket->description = describe(request, rank);
  ticket->request = std::move(request);
  ticket->engine = this;
  ticket->clock = clock_;
  ticket->group = group;
  mark_made(*ticket);
  return ticket;
}

// What one member sends to another belongs to a group of these two.
std::shared_ptr<GroupCore> EngineCore::pair_for(GroupCore& group, const Request& request) {
  const bool outgoing = request.operation == Operation::Send;
  const int sender = outgoing ? group.rank() : request.root, receiver = outgoing ? request.root : group.rank();
  const Lock lock(inbox_mutex_);
  if (group.outside.dropped) throw Error::bad_input("{} has been dropped", group.title());
  auto& pair = group.outside.pairs[{sender, receiver}];
  if (!pair) {
    const auto from = static_cast<std::size_t>(sender), to = static_cast<std::size_t>(receiver);
    std::byte* own_area = nullptr;
    std::vector<std::size_t> areas = pair_areas(group, sender, receiver, own_area);
    pair = build_group(
        fmt::format("{} {}>{}", group.title(), sender, receiver),
        std::make_shared<const std::vector<int>>(std::vector{group.ranks()[from], group.ranks()[to]}), std::move(areas),
        {.own = pair_channel(group.number, sender, receiver), .data = pair_channel(group.slot, sender, receiver)});
    pair->own_area = own_area;
    pair->is_pair = true;
  }
  return pair;
}

EngineCore::Tickets EngineCore::submit(const std::shared_ptr<GroupCore>& group, std::vector<Request> requests,
                                       bool waits_at_once) {
  // That a third member has left is nothing to two that send to each other.
  if (!requests.empty() && std::ranges::all_of(requests, between_two))
    check_member(*group);
  else
    check_open(*group);
  for (const Request& request : requests) {
    validate(request, group->rank(), group->size());
    if (request.operation == Operation::Join && requests.size() > 1)
      throw Error::bad_input("join cannot be submitted together with other requests");
  }
  if (requests.empty()) return {};
  if (std::ranges::any_of(requests, between_two)) return submit_mixed(group, std::move(requests), waits_at_once);
  Tickets unit = make_unit(group, std::move(requests));
  post_or_close({&unit, 1}, waits_at_once);
  return unit;
}

// Members that send to each other cannot wait for third ones: each of these requests is matched by itself. All others
// are one unit, as they are for members that neither send nor receive. Nothing is posted before everything can be.
EngineCore::Tickets EngineCore::submit_mixed(const std::shared_ptr<GroupCore>& group, std::vector<Request> requests,
                                             bool waits_at_once) {
  std::vector<Tickets> units;
  std::vector<std::pair<std::size_t, std::size_t>>
      places;  // by request: which unit, and where in it; 0 is the joint one
  std::vector<Request> joint;
  try {
    units.emplace_back();
    for (Request& request : requests) {
      if (!between_two(request)) {
        places.emplace_back(0, joint.size());
        joint.push_back(std::move(request));
        continue;
      }
      const auto pair = pair_for(*group, request);
      if (const auto refusal = pair->refusal()) throw *refusal;
      std::vector<Request> one;
      one.push_back(std::move(request));
      places.emplace_back(units.size(), 0);
      units.push_back(make_unit(pair, std::move(one)));
    }
    if (!joint.empty()) units.front() = make_unit(group, std::move(joint));
  } catch (...) {
    for (const Tickets& unit : units) take_names_back(unit);
    throw;
  }
  post_or_close(units, waits_at_once);
  Tickets in_order;
  for (const auto& [unit, place] : places) in_order.push_back(units[unit][place]);
  return in_order;
}

EngineCore::Tickets EngineCore::make_unit(const std::shared_ptr<GroupCore>& group, std::vector<Request> requests) {
  Tickets tickets;
  tickets.reserve(requests.size());
  for (Request& request : requests) tickets.push_back(make_ticket(std::move(request), group, group->rank()));
  for (std::size_t i = 0; i < tickets.size(); ++i) {
    tickets[i]->first = tickets.front().get();
    if (i > 0) tickets[i - 1]->next = tickets[i].get();
  }
  complete(*tickets.front());
  open_names(tickets);
  return tickets;
}

void EngineCore::post_or_close(std::span<const Tickets> units, bool waits_at_once) {
  try {
    post(units, waits_at_once);
  } catch (...) {
    for (const Tickets& unit : units) take_names_back(unit);
    throw;
  }
}

std::string EngineCore::why_not_nccl(GroupCore& group) {
  const Lock lock(token_);
  return group.nccl_path().why_not();
}

void EngineCore::check_in_stream(GroupCore& group) const {
  if (const std::string why = group.nccl_path().why_not(); !why.empty())
    throw Error::bad_input("{}: requests in a stream are not available: {}", group.title(), why);
}

void EngineCore::reserve_in_stream(GroupCore& group, const std::vector<InStream>& all) {
  check_open(group);
  const Lock lock(token_);
  check_in_stream(group);
  group.nccl_path().reserve(all);
  if (looks_too_seldom()) node().wake_self();
}

// What was given up by now is told by why_not_nccl(), whenever the program asks.
void EngineCore::launched_in_stream(GroupCore& group, const device::Stream& stream) {
  const Lock lock(token_);
  if (group.nccl_path().connected()) group.nccl_path().launched(stream);
  if (looks_too_seldom()) node().wake_self();
}

void EngineCore::allreduce_in_stream(GroupCore& group, const InStream& what, const device::Event& made,
                                     device::Event& done) {
  check_open(group);
  const Lock lock(token_);
  check_in_stream(group);
  try {
    group.nccl_path().allreduce_now(what, made, done);
  } catch (const Error& error) {  // once NCCL is given up here, nothing may go another way than on other members
    if (!group.nccl_path().connected()) group.fail(error);
    wake_caller_if_done();
    throw;
  }
}

void EngineCore::take_names_back(const Tickets& tickets) const {
  if (tickets.empty()) return;
  NameTable& names = tickets.front()->group->names();
  for (const auto& ticket : tickets)
    if (ticket->slot) names.take_back(*ticket->slot);
  if (tickets.front()->key) names.take_back(*tickets.front()->key);
}

// All or none.
void EngineCore::open_names(const Tickets& tickets) {
  NameTable& names = tickets.front()->group->names();
  bool named = false;
  for (const auto& ticket : tickets) {
    const std::string& name = ticket->request.name;
    if (name.empty()) continue;
    named = true;
    ticket->slot = names.open(name);
    if (ticket->slot) continue;
    take_names_back(tickets);
    throw Error::bad_input(
        "{}: a request with this name is already pending on rank {}, or its result was not waited for; wait for it "
        "first",
        title(*ticket), rank_);
  }
  Ticket& first = *tickets.front();
  if (!named) return;
  first.key = tickets.size() == 1 ? first.slot : names.open(joint_name(tickets));
}

// All or none. Empty units are nothing.
void EngineCore::post(std::span<const Tickets> units, bool waits_at_once) {
  const auto now = monotonic_now();
  bool matters = false, start_clock = false;
  {
    const Lock lock(inbox_mutex_);
    if (closed_) throw *closed_;
    for (const Tickets& unit : units)
      if (!unit.empty() && unit.front()->group->outside.dropped)
        throw Error::bad_input("{} has been dropped", unit.front()->group->title());
    for (const Tickets& unit : units)
      if (!unit.empty() && put_into_inbox(unit, now)) matters = true;
    fresh_.store(true, std::memory_order_release);
    // Who waits at once looks at the clock as well.
    start_clock = !waits_at_once && std::exchange(sleeps_for_good_, false);
  }
  if (matters && !waits_at_once) nudge();
  if (start_clock) node().wake_self(Node::Sleeper::Engine);
}

// Does it matter to the engine at once?
bool EngineCore::put_into_inbox(const Tickets& unit, std::chrono::nanoseconds now) {
  Ticket& first = *unit.front();
  GroupCore& group = *first.group;
  const std::uint64_t waits = clock_->waits.load(std::memory_order_relaxed);
  first.fence = std::exchange(group.outside.waits, waits) != waits;
  if (!first.key) first.sequence = group.next_unnamed.fetch_add(1, std::memory_order_relaxed);
  for (const auto& ticket : unit) {
    ticket->submitted = now;
    ticket->sequence = first.sequence;
    ticket->self = ticket;
  }
  if (first.description.operation == Operation::Join) group.joined.store(true, std::memory_order_release);
  group.live.fetch_add(static_cast<int>(unit.size()), std::memory_order_relaxed);
  inbox_.push_back({unit.front(), false});
  if (group.outside.ignorable_submissions == 0 || first.description.operation == Operation::Join) return true;
  --group.outside.ignorable_submissions;
  return false;
}

void EngineCore::post_wait(const std::shared_ptr<Ticket>& ticket) {
  if (ticket->noted.exchange(true, std::memory_order_relaxed)) return;
  const Lock lock(inbox_mutex_);
  inbox_.push_back({ticket, true});
  fresh_.store(true, std::memory_order_release);
}

}  // namespace ronde::comm::detail
