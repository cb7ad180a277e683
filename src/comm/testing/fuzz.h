#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "ronde/base/system/mutex.h"
#include "ronde/comm/engine.h"
#include "ronde/comm/testing/call.h"
#include "ronde/comm/testing/pending.h"

namespace ronde::comm::tests {

// One rank's part in a program of requests that all ranks derive from a seed: groups come and go, calls repeat, change,
// stay away and turn up, members join; each rank submits in an order of its own, from one thread or several, and waits
// and polls as it likes. Every result is compared with the reference.
class Fuzzer {
 public:
  Fuzzer(Engine& engine, std::uint64_t seed);

  void step();    // one more; what it has submitted may still be on its way after it
  void finish();  // waits for all that is

  // What was wrong, each with seed, step, rank and call.
  std::vector<std::string> problems() const {
    const Lock lock(mutex_);
    return problems_;
  }
  std::uint64_t checks() const { return checks_; }

 private:
  struct Circle {  // a group, the same list on every rank
    std::uint64_t id;
    Group group;
    std::vector<Call> habit;  // what is asked for again and again
  };
  struct Unit {  // what is submitted together
    std::uint64_t index;
    Circle* circle;
    std::vector<Call> calls;
    bool ordered;  // holds calls without a name, which match by their order
  };
  struct Flight {
    std::uint64_t circle;
    std::uint64_t step;
    std::unique_ptr<Pending> pending;
  };
  struct Departure {  // a unit as this rank hands it over
    Unit* unit;
    std::vector<Pending*> pending;
    int thread;
  };

  void change_groups(Random& shared);
  void make_group(Random& shared);
  void change_habit(Circle& circle, Random& shared);
  void draw_units(Circle& circle, Random& shared, std::vector<Unit>& units);
  void order_units(std::vector<Unit>& units, Random& mine);
  void make_room(const std::vector<Unit>& units);
  void submit(std::vector<Unit>& units, Random& mine);
  void depart(const std::vector<Departure>& departures, int thread);
  void join(Circle& circle, Random& shared, Random& mine);
  void compare_last_joined(Circle& circle, int last);
  void look(Random& mine);
  template <class Which>
  void settle(Which which);
  Pending* take_off(const Circle& circle, const Call& call, Random& mine);
  void note(std::uint64_t step, const std::string& problem);

  Engine& engine_;
  const std::uint64_t seed_;
  std::uint64_t step_ = 0;
  std::uint64_t units_ = 0;
  std::uint64_t checks_ = 0;
  std::list<Circle> circles_;  // the world first
  std::list<Flight> flights_;
  mutable Mutex mutex_;
  std::vector<std::string> problems_ RONDE_GUARDED_BY(mutex_);
};

}  // namespace ronde::comm::tests
