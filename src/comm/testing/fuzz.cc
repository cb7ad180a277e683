#include "ronde/comm/testing/fuzz.h"

#include <algorithm>
#include <iterator>
#include <thread>
#include <utility>

#include "ronde/base/text/format.h"
#include "ronde/comm/testing/requests.h"

namespace ronde::comm::tests {
namespace {

constexpr std::size_t kMostGroups = 4;
constexpr std::size_t kMostHabits = 7;

bool is_ordered(const std::vector<Call>& calls) {
  return std::any_of(calls.begin(), calls.end(), [](const Call& call) { return call.name.empty(); });
}

}  // namespace

Fuzzer::Fuzzer(Engine& engine, std::uint64_t seed) : engine_(engine), seed_(seed) {
  circles_.push_back({.id = 0, .group = engine.world(), .habit = {}});
}

void Fuzzer::step() {
  Random shared({seed_, step_});
  Random mine({seed_, step_, static_cast<std::uint64_t>(engine_.rank()) + 1});
  engine_.set_step(static_cast<std::int64_t>(step_));
  change_groups(shared);
  std::vector<Unit> units;
  for (Circle& circle : circles_) {
    change_habit(circle, shared);
    draw_units(circle, shared, units);
  }
  std::erase_if(units, [](const Unit& unit) { return unit.circle->group.rank() < 0; });
  order_units(units, mine);
  make_room(units);
  submit(units, mine);
  for (Circle& circle : circles_)
    if (Random rounds({seed_, step_, circle.id, 7}); shared.once_in(9)) join(circle, rounds, mine);
  look(mine);
  ++step_;
}

void Fuzzer::finish() {
  settle([](const Flight&) { return true; });
}

void Fuzzer::change_groups(Random& shared) {
  if (circles_.size() < kMostGroups && shared.once_in(6)) make_group(shared);
  if (circles_.size() > 1 && shared.once_in(10)) {
    const auto victim = std::next(circles_.begin(), 1 + static_cast<std::ptrdiff_t>(shared.below(circles_.size() - 1)));
    settle([&](const Flight& flight) { return flight.circle == victim->id; });
    engine_.drop_group(victim->group);
    circles_.erase(victim);
  }
}

void Fuzzer::make_group(Random& shared) {
  std::vector<int> ranks;
  for (int rank = 0; rank < engine_.size(); ++rank) ranks.push_back(rank);
  shared.shuffle(ranks);
  ranks.resize(1 + shared.below(ranks.size()));
  circles_.push_back({.id = step_ + 1, .group = engine_.make_group(ranks), .habit = {}});
  if (circles_.back().group.ranks() != ranks) note(step_, fmt::format("not a group of {}", fmt::join(ranks, ",")));
}

void Fuzzer::change_habit(Circle& circle, Random& shared) {
  const int members = circle.group.size();
  if (circle.habit.size() < kMostHabits && shared.once_in(4)) {
    circle.habit.push_back(any_call(shared, members));
    circle.habit.back().name = fmt::format("habit.{}.{}", circle.id, step_);
  }
  if (!circle.habit.empty() && shared.once_in(15)) {  // another shape, type or operation by a name that is known
    Call& call = circle.habit[shared.below(circle.habit.size())];
    std::string name = std::move(call.name);
    call = any_call(shared, members);
    call.name = std::move(name);
  }
  if (!circle.habit.empty() && shared.once_in(20)) circle.habit.pop_back();
}

void Fuzzer::draw_units(Circle& circle, Random& shared, std::vector<Unit>& units) {
  const auto add = [&](std::vector<Call> calls) {
    if (calls.empty()) return;
    for (Call& call : calls) call.seed = shared.next();
    const bool ordered = is_ordered(calls);
    units.push_back({.index = units_++, .circle = &circle, .calls = std::move(calls), .ordered = ordered});
  };
  const bool some_stay_away = shared.once_in(8), bundles = shared.once_in(6);
  std::vector<Call> together;
  for (const Call& call : circle.habit) {
    if (some_stay_away && shared.once_in(3)) continue;
    if (bundles && call.operation != Operation::Send) {  // with it members would hand over different bundles
      together.push_back(call);
    } else {
      add({call});
    }
  }
  add(std::move(together));
  if (!shared.once_in(3)) return;
  for (auto left = 1 + shared.below(3); left > 0; --left) {
    Call call = any_call(shared, circle.group.size());
    if (!shared.once_in(2)) call.name = fmt::format("once.{}.{}", step_, left);
    add({call});
  }
}

// Any order, except that units with calls without a name keep theirs within a group.
void Fuzzer::order_units(std::vector<Unit>& units, Random& mine) {
  mine.shuffle(units);
  for (const Circle& circle : circles_) {
    std::vector<Unit*> places;
    for (Unit& unit : units)
      if (unit.ordered && unit.circle == &circle) places.push_back(&unit);
    std::vector<Unit> in_order;
    for (Unit* unit : places) in_order.push_back(std::move(*unit));
    std::sort(in_order.begin(), in_order.end(), [](const Unit& a, const Unit& b) { return a.index < b.index; });
    for (std::size_t i = 0; i < places.size(); ++i) *places[i] = std::move(in_order[i]);
  }
}

// A name can be on its way once.
void Fuzzer::make_room(const std::vector<Unit>& units) {
  for (const Unit& unit : units)
    for (const Call& call : unit.calls)
      settle([&](const Flight& flight) {
        return flight.circle == unit.circle->id && !call.name.empty() && flight.pending->call().name == call.name;
      });
}

Pending* Fuzzer::take_off(const Circle& circle, const Call& call, Random& mine) {
  auto pending = std::make_unique<Pending>(engine_, circle.group, call, Placement::draw(mine));
  flights_.push_back({.circle = circle.id, .step = step_, .pending = std::move(pending)});
  return flights_.back().pending.get();
}

void Fuzzer::submit(std::vector<Unit>& units, Random& mine) {
  const int threads = mine.once_in(5) ? 2 + mine.below(2) : 1;
  std::vector<Departure> departures;
  for (Unit& unit : units) {
    Departure departure{.unit = &unit, .pending = {}, .thread = unit.ordered ? 0 : mine.below(threads)};
    for (const Call& call : unit.calls)
      if (submits(call, unit.circle->group.rank())) departure.pending.push_back(take_off(*unit.circle, call, mine));
    departures.push_back(std::move(departure));
  }
  std::vector<std::jthread> others;
  for (int thread = 1; thread < threads; ++thread)
    others.emplace_back([this, &departures, thread] { depart(departures, thread); });
  depart(departures, 0);
}

void Fuzzer::depart(const std::vector<Departure>& departures, int thread) {
  for (const Departure& departure : departures) {
    if (departure.thread != thread || departure.pending.empty()) continue;
    const Group& group = departure.unit->circle->group;
    try {
      if (departure.unit->calls.size() == 1) {
        departure.pending.front()->on_its_way(group.submit(departure.pending.front()->request()));
        continue;
      }
      std::vector<Request> requests;
      for (Pending* pending : departure.pending) requests.push_back(pending->request());
      const auto handles = group.submit(std::move(requests));
      for (std::size_t i = 0; i < handles.size(); ++i) departure.pending[i]->on_its_way(handles[i]);
    } catch (const std::exception& error) {
      note(step_, fmt::format("{}: refused: {}", describe(departure.unit->calls.front()), error.what()));
    }
  }
}

// Each member takes part in some rounds, then joins. Rounds that it misses count as zeros.
void Fuzzer::join(Circle& circle, Random& shared, Random& mine) {
  const int members = circle.group.size();
  std::vector<int> rounds;
  for (int member = 0; member < members; ++member) rounds.push_back(shared.below(4));
  const int most = *std::max_element(rounds.begin(), rounds.end());
  for (int round = 0; round < most; ++round) {
    Call call = any_joinable_call(shared, members);
    if (!shared.once_in(3)) call.name = fmt::format("join.{}.{}", step_, round);
    for (int member = 0; member < members; ++member)
      if (rounds[static_cast<std::size_t>(member)] <= round) call.joined.push_back(member);
    if (circle.group.rank() < 0 || !submits(call, circle.group.rank())) continue;
    Pending* pending = take_off(circle, call, mine);
    pending->on_its_way(circle.group.submit(pending->request()));
  }
  if (circle.group.rank() < 0) return;
  try {
    compare_last_joined(circle, circle.group.join().wait().last_joined);
  } catch (const std::exception& error) {
    note(step_, fmt::format("join in a group of {}: {}", members, error.what()));
  }
}

void Fuzzer::compare_last_joined(Circle& circle, int last) {
  std::vector<std::int32_t> both{last, -last};
  circle.group.allreduce(fmt::format("last.{}", step_), buffer_of(both), {.op = ReduceOp::Max}).wait();
  if (last < 0 || last >= circle.group.size() || both[0] != last || both[1] != -last)
    note(step_, fmt::format("members do not agree on who joined last: {} to {}, I say {}", -both[1], both[0], last));
}

void Fuzzer::look(Random& mine) {
  for (Flight& flight : flights_)
    if (mine.once_in(4) && flight.pending->handle()) flight.pending->handle().poll();
  const bool all = mine.once_in(3);
  settle([&](const Flight& flight) { return all || flight.step < step_ || mine.once_in(3); });
}

// Checks and forgets flights, in any order.
template <class Which>
void Fuzzer::settle(Which which) {
  std::vector<Flight> landing;
  for (auto flight = flights_.begin(); flight != flights_.end();) {
    const auto next = std::next(flight);
    if (which(*flight)) {
      landing.push_back(std::move(*flight));
      flights_.erase(flight);
    }
    flight = next;
  }
  Random mine({seed_, step_, static_cast<std::uint64_t>(engine_.rank()), landing.size()});
  mine.shuffle(landing);
  for (Flight& flight : landing) {
    if (!flight.pending->handle()) continue;  // it was refused, which is noted
    ++checks_;
    if (const std::string problem = flight.pending->check(); !problem.empty()) note(flight.step, problem);
  }
}

void Fuzzer::note(std::uint64_t step, const std::string& problem) {
  const Lock lock(mutex_);
  problems_.push_back(fmt::format("seed {} step {} rank {}: {}", seed_, step, engine_.rank(), problem));
}

}  // namespace ronde::comm::tests
