// Groups that are made and dropped while the job runs. Every rank takes part, member or not, so that all agree on which
// groups there are.
#include <algorithm>
#include <set>
#include <utility>

#include "ronde/base/system/mutex.h"
#include "ronde/base/text/text.h"
#include "ronde/comm/engine/engine_core.h"
#include "ronde/comm/link/make_link.h"
#include "ronde/comm/link/testing/delayed_link.h"

namespace ronde::comm::detail {
namespace {

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
  if (peers_.wrap_link) link = peers_.wrap_link(std::move(link));
  if (options_.link_delay.count() == 0) return link;
  return std::make_unique<DelayedLink>(std::move(link), options_.link_delay);
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

Task EngineCore::drop(GroupCore& world, const std::shared_ptr<GroupCore>& dropped) {
  std::vector<std::shared_ptr<GroupCore>> gone = {dropped};
  {
    const Lock lock(inbox_mutex_);
    for (const auto& [members, pair] : dropped->outside.pairs) gone.push_back(pair);
  }
  // What failed may have left messages behind, which must not meet those of another group.
  std::byte failed{std::ranges::any_of(gone, [](const auto& one) { return one->refusal().has_value(); })};
  for (const auto& one : gone) one->stop();
  std::erase_if(groups_, [&](const auto& one) { return std::ranges::find(gone, one) != gone.end(); });
  co_await world.link().allreduce(Segments({&failed, 1}), {.dtype = DType::U8, .op = ReduceOp::Max});
  // From here on nobody looks at its areas, or sends anything through its slot.
  if (failed == std::byte{0}) slots_.give_back(dropped->slot);
  for (const auto& one : gone)
    if (one->own_area) node().arena().free(std::exchange(one->own_area, nullptr));
}

// Runs where the world's data moves, in one order on all ranks.
Task EngineCore::run_special(GroupCore& group, Ticket& ticket) {
  if (ticket.description.operation == kDropGroup) {
    co_await drop(group, ticket.made);
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

void EngineCore::drop_group(const std::shared_ptr<GroupCore>& group) {
  if (group == world_) throw Error::bad_input("drop_group: the world cannot be dropped");
  {
    const Lock lock(inbox_mutex_);
    if (group->outside.dropped) throw Error::bad_input("drop_group: the {} has already been dropped", group->title());
    int live = group->live.load(std::memory_order_acquire);
    for (const auto& [members, pair] : group->outside.pairs) live += pair->live.load(std::memory_order_acquire);
    if (live > 0)
      throw Error::bad_input("drop_group: rank {} still has {} pending in the {}", rank_,
                             counted(static_cast<std::size_t>(live), "request"), group->title());
    group->outside.dropped = true;
    for (const auto& [members, pair] : group->outside.pairs) pair->outside.dropped = true;
  }
  agree_on_group(kDropGroup, fmt::format("{} of {}", group->title(), group->made_by), {}, group);
}

}  // namespace ronde::comm::detail
