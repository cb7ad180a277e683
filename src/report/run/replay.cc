#include "ronde/report/run/replay.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace ronde::report {
namespace {

using trace::Collective;
using trace::RankTrace;
using trace::Run;

// A collective operation of all its members.
struct Operation {
  struct Member {
    std::size_t rank = 0;                       // place in the run
    std::int64_t arrival = 0;                   // in the run
    std::int64_t done = 0;                      // in the run
    std::optional<std::size_t> before = {};     // the operation before it in its group on that rank
    std::optional<std::int64_t> arrived = {};   // in the replay
    std::optional<std::int64_t> complete = {};  // in the replay, once all have arrived
  };
  std::vector<Member> members = {};
  std::size_t missing = 0;  // members that have not arrived in the replay
};

struct Event {
  enum class Kind { Arrive, WaitForInput, WaitForOthers };
  std::int64_t time = 0;
  Kind kind = Kind::Arrive;
  std::int64_t end = 0;       // of a wait
  std::size_t operation = 0;  // of an arrival
};

struct Thread {
  std::vector<Event> events = {};
  std::vector<std::pair<std::int64_t, std::size_t>> asked = {};  // by completion in the run: operations
  std::size_t next = 0;
  std::size_t seen = 0;          // of `asked`: complete before some wait's end
  std::int64_t real = 0;         // how far it is in the run
  std::int64_t now = 0;          // and in the replay
  std::int64_t waited_from = 0;  // in the replay: where its last wait began
  std::int64_t latest = 0;       // completion in the replay of all that was waited for
};

class Player {
 public:
  Player(const Run& run, const Window& window, const ReplayCosts& costs) : run_(run), window_(window), costs_(costs) {
    threads_.resize(run.ranks.size());
    for (std::size_t i = 0; i < run.ranks.size(); ++i) add_operations(i);
    for (std::size_t i = 0; i < run.ranks.size(); ++i) add_waits(i);
  }

  Replayed play() {
    // Ranks go on in turns until nobody can. In a whole trace all come to their ends; where members were not recorded
    // to the end, what cannot be known counts as complete.
    for (bool moved = true; moved;) {
      moved = false;
      for (Thread& thread : threads_) moved = go_on(thread, false) || moved;
      if (moved) continue;
      for (Thread& thread : threads_)
        if (thread.next < thread.events.size() && (moved = go_on(thread, true))) break;
    }
    Replayed result;
    for (std::size_t i = 0; i < threads_.size(); ++i) {
      Thread& thread = threads_[i];
      thread.now += std::max<std::int64_t>(0, window_.ranks[i].end - thread.real);
      result.end_ns.push_back(thread.now - window_.time.begin);
      if (window_.ranks[i] != TimeRange{}) result.time_ns = std::max(result.time_ns, result.end_ns.back());
    }
    return result;
  }

 private:
  void add_operations(std::size_t place) {
    const TimeRange bounds = window_.ranks[place];
    Thread& thread = threads_[place];
    thread.real = thread.now = thread.waited_from = thread.latest = bounds.begin;
    std::map<std::uint32_t, std::size_t> last;  // by group
    for (const Collective& one : run_.ranks[place].collectives) {
      if (one.arrival < bounds.begin || one.arrival > bounds.end) continue;
      const auto [found, fresh] = numbers_.try_emplace({one.group, one.sequence}, operations_.size());
      if (fresh) operations_.emplace_back();
      Operation& operation = operations_[found->second];
      const auto before = last.find(one.group);
      operation.members.push_back({.rank = place,
                                   .arrival = one.arrival,
                                   .done = one.time.end,
                                   .before = before == last.end() ? std::nullopt : std::optional(before->second)});
      ++operation.missing;
      last[one.group] = found->second;
      thread.events.push_back({.time = one.arrival, .kind = Event::Kind::Arrive, .operation = found->second});
      thread.asked.emplace_back(one.time.end, found->second);
    }
    std::ranges::sort(thread.asked);
  }

  void add_waits(std::size_t place) {
    Thread& thread = threads_[place];
    const Waits waits = waits_of(run_, run_.ranks[place], window_.ranks[place]);
    for (const TimeRange& wait : waits.input)
      thread.events.push_back({.time = wait.begin, .kind = Event::Kind::WaitForInput, .end = wait.end});
    for (const TimeRange& wait : waits.communication)
      thread.events.push_back({.time = wait.begin, .kind = Event::Kind::WaitForOthers, .end = wait.end});
    std::ranges::stable_sort(thread.events, {}, &Event::time);
  }

  // True: it got further. `anyhow`: what is not complete counts as such.
  bool go_on(Thread& thread, bool anyhow) {
    const std::size_t from = thread.next;
    while (thread.next < thread.events.size()) {
      const Event& event = thread.events[thread.next];
      if (event.kind == Event::Kind::WaitForOthers && !wait(thread, event, anyhow)) break;
      if (event.kind != Event::Kind::WaitForOthers) work_until(thread, event.time);
      if (event.kind == Event::Kind::Arrive) arrive(thread, event);
      if (event.kind == Event::Kind::WaitForInput) {
        thread.waited_from = thread.now;
        if (costs_.input) thread.now += event.end - std::max(event.time, thread.real);
        thread.real = std::max(thread.real, event.end);
      }
      anyhow = false;
      ++thread.next;
    }
    return thread.next > from;
  }

  static void work_until(Thread& thread, std::int64_t real) {
    if (real <= thread.real) return;
    thread.now += real - thread.real;
    thread.real = real;
  }

  // While the training thread waits, another thread may ask for something.
  void arrive(Thread& thread, const Event& event) {
    Operation& operation = operations_[event.operation];
    const std::int64_t at = std::max(thread.waited_from, thread.now - (thread.real - event.time));
    const std::size_t place = static_cast<std::size_t>(&thread - threads_.data());
    for (Operation::Member& member : operation.members)
      if (member.rank == place && !member.arrived) {
        member.arrived = at;
        --operation.missing;
        break;
      }
  }

  static const Operation::Member& member_of(const Operation& operation, std::size_t place) {
    return *std::ranges::find(operation.members, place, &Operation::Member::rank);
  }

  bool wait(Thread& thread, const Event& event, bool anyhow) {
    const std::size_t place = static_cast<std::size_t>(&thread - threads_.data());
    std::int64_t reached = event.time;  // in the run: the last completion that this wait waited for
    std::size_t seen = thread.seen;
    for (; seen < thread.asked.size() && thread.asked[seen].first <= event.end; ++seen) {
      const std::size_t number = thread.asked[seen].second;
      if (!member_of(operations_[number], place).arrived) continue;  // asked for later, by another thread
      const std::optional<std::int64_t> done = complete(number, place);
      if (!done && !anyhow) return false;
      thread.latest = std::max(thread.latest, done.value_or(thread.latest));
      reached = std::max(reached, thread.asked[seen].first);
    }
    thread.seen = seen;
    work_until(thread, event.time);
    thread.waited_from = thread.now;
    thread.now = std::max(thread.now, thread.latest);
    // Waking up, and what was done meanwhile that no operation tells of.
    if (costs_.network) thread.now += event.end - std::max(reached, thread.real);
    thread.real = std::max(thread.real, event.end);
    return true;
  }

  // When an operation is complete on a rank. None: somebody has not arrived yet.
  std::optional<std::int64_t> complete(std::size_t number, std::size_t place) {
    Operation& operation = operations_[number];
    if (operation.missing > 0) return {};
    auto& member = *std::ranges::find(operation.members, place, &Operation::Member::rank);
    if (member.complete) return member.complete;
    std::int64_t all = 0, real_all = 0;
    bool first = true;
    for (const Operation::Member& other : operation.members) {
      all = first ? *other.arrived : std::max(all, *other.arrived);
      real_all = first ? other.arrival : std::max(real_all, other.arrival);
      first = false;
    }
    if (!costs_.network) return member.complete = all;
    if (member.before) {
      const std::optional<std::int64_t> before = complete(*member.before, place);
      if (!before) return {};
      all = std::max(all, *before);
      real_all = std::max(real_all, member_of(operations_[*member.before], place).done);
    }
    return member.complete = all + (member.done - real_all);
  }

  const Run& run_;
  const Window& window_;
  const ReplayCosts costs_;
  std::vector<Thread> threads_;
  std::vector<Operation> operations_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::size_t> numbers_;  // by group and sequence
};

}  // namespace

Replayed replay(const Run& run, const Window& window, const ReplayCosts& costs) {
  return Player(run, window, costs).play();
}

}  // namespace ronde::report
