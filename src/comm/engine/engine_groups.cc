// Groups that are made and dropped while the job runs. Every rank takes part, member or not, so that all agree on which
// groups there are.
#include <algorithm>
#include <set>
#include <utility>

#include "ronde/base/system/mutex.h"
#include "ronde/base/text/text.h"
#include "ronde/comm/engine/engine_core.h"
#include "ronde/comm/link/nodes/make_link.h"
#include "ronde/comm/link/testing/delayed_link.h"

namespace ronde::comm::detail {
namespace {

// Groups that members make among themselves have numbers and slots of their own, beyond those of all ranks: so many
// groups of all ranks may have been made, and may exist at once.
constexpr std::uint32_t kMostNumbers = std::uint32_t{1} << 29, kMostSlots = 4096;

std::string text_of(const std::vector<int>& ranks) {
  std::vector<std::string> numbers;
  for (const int rank : ranks) numbers.push_back(std::to_string(rank));
  return fmt::format("of {}", join(numbers, ", "));
}

void check_ranks(const std::vector<int>& ranks, int size) {
  if (ranks.empty()) throw Error::bad_input("make_group: a group needs at least one member");
  std::set<int> seen;
  for (const int rank : ranks) {
    if (rank < 0 || rank >= size) throw Error::bad_input("make_group: there is no rank {} in a job of {}", rank, size);
    if (!seen.insert(rank).second) throw Error::bad_input("make_group: rank {} is listed twice", rank);
  }
}

}  // namespace

std::uint32_t channel_of(std::uint32_t number) {
  return 3 * number;
}

std::uint32_t pair_channel(std::uint32_t number, int sender, int receiver) {
  return channel_of(number) + (sender < receiver ? 1 : 2);
}

std::size_t areas_bytes(std::size_t members_here) {
  return link_area_bytes() * (1 + 2 * members_here);
}

std::size_t pair_area(std::size_t place, bool outgoing) {
  return link_area_bytes() * (1 + 2 * place + (outgoing ? 0 : 1));
}

std::unique_ptr<Link> EngineCore::link_between(Ranks ranks, const std::vector<std::size_t>& areas,
                                               const Channels& channels) {
  auto link = make_link(peers_, rank_,
                        {.ranks = std::move(ranks),
                         .areas = areas,
                         .channel = channels.own,
                         .data_channel = channels.data,
                         .tuning = {.in_order = options_.deterministic},
                         .status = {.here =
                                        [this](int rank) {
                                          token_.assert_held();
                                          return doing(rank);
                                        },
                                    .elsewhere =
                                        [this](int rank, std::string text) {
                                          token_.assert_held();
                                          doing_elsewhere_[rank] = std::move(text);
                                        }}});
  if (hooks_.wrap_link) link = hooks_.wrap_link(std::move(link));
  if (hooks_.link_delay.count() == 0) return link;
  return std::make_unique<DelayedLink>(std::move(link), hooks_.link_delay);
}

std::shared_ptr<GroupCore> EngineCore::build_group(std::string title, Ranks ranks, std::vector<std::size_t> areas,
                                                   const Channels& channels) {
  const bool member = std::ranges::find(*ranks, rank_) != ranks->end();
  auto link = member ? link_between(ranks, areas, channels) : nullptr;
  auto group = std::make_shared<GroupCore>(context_, std::move(title), ranks, std::move(link));
  for (int one = 0; one < group->size(); ++one)
    if (is_here((*ranks)[static_cast<std::size_t>(one)])) group->here.push_back(one);
  group->areas = std::move(areas);
  group->channel = channels.own;
  return group;
}

// Members on one node know where each other's areas lie; one on another node is told nothing about mine.
std::vector<std::size_t> EngineCore::pair_areas(const GroupCore& group, int sender, int receiver,
                                                std::byte*& own_area) {
  const auto place_of = [&](int member) {
    return static_cast<std::size_t>(std::ranges::find(group.here, member) - group.here.begin());
  };
  const std::size_t from = place_of(sender), to = place_of(receiver);
  if (from < group.here.size() && to < group.here.size())
    return {group.areas[from] + pair_area(to, true), group.areas[to] + pair_area(from, false)};
  own_area = node().arena().allocate_zeroed(link_area_bytes());
  return {static_cast<std::size_t>(own_area - node().base(node().rank()))};
}

std::vector<std::shared_ptr<GroupCore>> EngineCore::with_pairs(const std::shared_ptr<GroupCore>& group) {
  std::vector<std::shared_ptr<GroupCore>> all = {group};
  const Lock lock(inbox_mutex_);
  for (const auto& [members, pair] : group->outside.pairs) all.push_back(pair);
  return all;
}

void EngineCore::stop_groups(const std::vector<std::shared_ptr<GroupCore>>& gone) {
  for (const auto& one : gone) one->stop();
  std::erase_if(groups_, [&](const auto& one) { return std::ranges::find(gone, one) != gone.end(); });
}

void EngineCore::free_areas(const std::vector<std::shared_ptr<GroupCore>>& gone) {
  for (const auto& one : gone)
    if (one->own_area) node().arena().free(std::exchange(one->own_area, nullptr));
}

Task EngineCore::drop(GroupCore& world, const std::shared_ptr<GroupCore>& dropped) {
  const auto gone = with_pairs(dropped);
  // What failed may have left messages behind, which must not meet those of another group.
  std::byte failed{std::ranges::any_of(gone, [](const auto& one) { return one->refusal().has_value(); })};
  stop_groups(gone);
  co_await world.link().allreduce(Segments({&failed, 1}), {.dtype = DType::U8, .op = ReduceOp::Max});
  // From here on nobody looks at its areas, or sends anything through its slot.
  if (failed == std::byte{0}) slots_.give_back(dropped->slot);
  free_areas(gone);
}

// Runs where the world's data moves, in one order on all ranks.
Task EngineCore::run_special(GroupCore& group, Ticket& ticket) {
  if (ticket.description.operation == kDropGroup) {
    co_await drop(group, ticket.made);
    co_return;
  }
  if (slots_.next() >= kMostSlots) {  // the same on all ranks
    ticket.error = Error::bad_input("make_group: at most {} groups can exist at once", kMostSlots - 1);
    co_return;
  }
  std::vector<int> ranks(ticket.request.splits.begin(), ticket.request.splits.end());
  const bool member = std::ranges::find(ranks, rank_) != ranks.end();
  const auto here = static_cast<std::size_t>(std::ranges::count_if(ranks, [this](int rank) { return is_here(rank); }));
  std::vector<std::uint64_t> mine(1, 0), offsets;
  std::byte* own_area = nullptr;
  if (member) {
    own_area = node().arena().allocate_zeroed(areas_bytes(here));
    mine.front() = static_cast<std::uint64_t>(own_area - node().base(node().rank()));
  }
  co_await group.link().share(mine, offsets);
  std::vector<std::size_t> areas;
  for (const int rank : ranks)
    if (is_here(rank)) areas.push_back(offsets[static_cast<std::size_t>(rank)]);
  const std::string title = "group " + text_of(ranks);
  const std::uint32_t number = ++groups_made_, slot = slots_.take();
  ticket.made = build_group(title, std::make_shared<const std::vector<int>>(std::move(ranks)), std::move(areas),
                            {.own = channel_of(number), .data = channel_of(slot)});
  ticket.made->own_area = own_area;
  ticket.made->number = number;
  ticket.made->slot = slot;
  ticket.made->made_by = ticket.request.name;
  if (member) add_group(ticket.made);
}

std::shared_ptr<Ticket> EngineCore::agree_on_group(Operation operation, std::string text,
                                                   std::vector<std::int64_t> content,
                                                   const std::shared_ptr<GroupCore>& subject) {
  check_open(*world_);
  Request request{.operation = operation, .splits = std::move(content)};
  {
    const Lock lock(inbox_mutex_);
    request.name = fmt::format("group call {}", group_calls_++);  // the n-th on every rank
  }
  const Tickets tickets = {make_ticket(std::move(request), world_, world_->rank())};
  Ticket& ticket = *tickets.front();
  ticket.description = {.operation = operation, .text = std::move(text)};
  ticket.made = subject;
  complete(ticket);
  open_names(tickets);
  post({&tickets, 1}, true);
  wait(tickets.front());
  if (ticket.error) throw *ticket.error;
  return tickets.front();
}

std::shared_ptr<GroupCore> EngineCore::make_group(std::vector<int> ranks) {
  check_ranks(ranks, world_->size());
  std::vector<std::int64_t> content(ranks.begin(), ranks.end());
  return agree_on_group(kMakeGroup, text_of(ranks), std::move(content), nullptr)->made;
}

// From here on nothing can be submitted to it.
void EngineCore::close_group(GroupCore& group) {
  const Lock lock(inbox_mutex_);
  if (group.outside.dropped) throw Error::bad_input("drop_group: the {} has already been dropped", group.title());
  int live = group.live.load(std::memory_order_acquire);
  for (const auto& [members, pair] : group.outside.pairs) live += pair->live.load(std::memory_order_acquire);
  if (live > 0)
    throw Error::bad_input("drop_group: rank {} still has {} pending in the {}", rank_,
                           counted(static_cast<std::size_t>(live), "request"), group.title());
  group.outside.dropped = true;
  for (const auto& [members, pair] : group.outside.pairs) pair->outside.dropped = true;
}

void EngineCore::drop_group(const std::shared_ptr<GroupCore>& group) {
  if (group == world_) throw Error::bad_input("drop_group: the world cannot be dropped");
  if (group->number >= kMostNumbers)
    throw Error::bad_input("drop_group: the {} was made among its members; use drop_group_among", group->title());
  close_group(*group);
  agree_on_group(kDropGroup, fmt::format("{} of {}", group->title(), group->made_by), {}, group);
}

std::shared_ptr<GroupCore> EngineCore::make_group_among(std::vector<int> ranks, std::uint32_t number,
                                                        Bootstrap& members) {
  check_ranks(ranks, world_->size());
  if (number == 0 || number >= kMostNumbers)
    throw Error::bad_input("make_group_among: the number must be from 1 to {}, got {}", kMostNumbers - 1, number);
  const auto place = std::ranges::find(ranks, rank_) - ranks.begin();
  if (place == std::ssize(ranks) || place != members.rank() || std::ssize(ranks) != members.size())
    throw Error::bad_input("make_group_among: rank {} must be member {} of the {} given", rank_, members.rank(),
                           counted(ranks.size(), "rank"));
  if (const auto refusal = world_->refusal()) throw *refusal;
  const auto here = static_cast<std::size_t>(std::ranges::count_if(ranks, [this](int rank) { return is_here(rank); }));
  std::byte* const mine = node().arena().allocate_zeroed(areas_bytes(here));
  std::vector<std::size_t> areas;
  try {
    const auto offset = static_cast<std::uint64_t>(mine - node().base(node().rank()));
    const std::vector<std::string> told =
        members.exchange(fmt::format("{} {}", offset, number), Deadline::after(options_.start_timeout));
    for (std::size_t member = 0; member < told.size(); ++member) {
      const auto words = split(told[member], ' ');
      const auto where = parse_number<std::uint64_t>(words.front()), of = parse_number<std::uint64_t>(words.back());
      if (!where || of != number)
        throw Error(Error::Kind::Mismatch, fmt::format("make_group_among: rank {} makes group '{}', rank {} group {}",
                                                       ranks[member], told[member], rank_, number));
      if (is_here(ranks[member])) areas.push_back(*where);
    }
  } catch (...) {
    node().arena().free(mine);
    throw;
  }
  const std::string title = "group " + text_of(ranks);
  const std::uint32_t own = kMostNumbers + number, slot = kMostSlots + number;
  auto group = build_group(title, std::make_shared<const std::vector<int>>(std::move(ranks)), std::move(areas),
                           {.own = channel_of(own), .data = channel_of(slot)});
  group->own_area = mine;
  group->number = own;
  group->slot = slot;
  {
    const Lock lock(token_);
    add_group(group);
  }
  node().wake_self();  // others may have called already
  return group;
}

void EngineCore::drop_group_among(const std::shared_ptr<GroupCore>& group) {
  if (group->number < kMostNumbers)
    throw Error::bad_input("drop_group_among: the {} was made by all ranks; use drop_group", group->title());
  close_group(*group);
  const auto gone = with_pairs(group);
  const Lock lock(token_);
  stop_groups(gone);
  free_areas(gone);
}

}  // namespace ronde::comm::detail
