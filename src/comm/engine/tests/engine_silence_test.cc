#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <latch>
#include <sstream>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "ronde/comm/testing/failures.h"
#include "ronde/comm/testing/ranks.h"

// What it costs to wait for a rank that does not come: counted, not timed.
namespace ronde::comm {
namespace {

using namespace std::chrono_literals;

constexpr int kSeconds = 3;
constexpr std::uint64_t kMostPerSecond = 10;

struct Silence {
  tests::Place place;
  std::chrono::milliseconds warn;
  bool paused;  // the process itself, not only its program
};
std::string name_of(const Silence& silence) {
  return fmt::format("{}{}{}", tests::name_of(silence.place), silence.paused ? "Paused" : "Late", silence.warn.count());
}

void expect_quiet(Engine& engine, const Silence& silence, std::chrono::milliseconds settle = 300ms) {
  std::this_thread::sleep_for(settle);  // until all that can move has
  const Statistics before = engine.statistics();
  std::this_thread::sleep_for(std::chrono::seconds(kSeconds));
  const Statistics after = engine.statistics();
  const std::string who = fmt::format("{}, rank {}", name_of(silence), engine.rank());
  const auto wakes = after.wake_ups - before.wake_ups;
  const auto watchdogs = after.watchdog_wake_ups - before.watchdog_wake_ups;
  EXPECT_LE(std::max(wakes, watchdogs), kSeconds * kMostPerSecond) << who << ", " << watchdogs << " of its watchdog";
  if (silence.warn >= 30s) {  // nothing is to be reported meanwhile
    EXPECT_LE(wakes + watchdogs, kSeconds * kMostPerSecond) << who;
  }
  EXPECT_LE(after.control_messages - before.control_messages, kSeconds * kMostPerSecond) << who;
}

class SilentJob {
 public:
  explicit SilentJob(const Silence& silence)
      : silence_(silence), learnt_(silence.place.ranks), counted_(silence.place.ranks - 1) {}

  void run() {
    const tests::Watchdog watchdog(3min, tests::current_test());
    detail::HookedJob job(silence_.place.ranks, silence_.place.nodes);
    // The last rank stops wherever its engine comes next, until it may go on.
    job.set_hooks(last(), {.on_phase = [this](Phase) {
                    if (pauses_.load()) go_on_.wait();
                  }});
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < silence_.place.ranks; ++rank)
      threads.emplace_back([&, rank] { run_rank(*job.engine(rank, {.stall_warn = silence_.warn, .log = log_})); });
    threads.clear();
    if (silence_.warn < 2s) {
      EXPECT_NE(said_.str().find(fmt::format("rank {}", last())), std::string::npos)
          << name_of(silence_) << ": " << said_.str();
    }
  }

 private:
  int last() const { return silence_.place.ranks - 1; }

  void run_rank(Engine& engine) {
    std::vector<float> values(10, 1.0f);
    const auto step = [&] { return engine.world().allreduce("gradient", buffer_of(values)); };
    for (int i = 0; i < 5; ++i) step().wait();  // the plan needs three
    learnt_.arrive_and_wait();
    if (engine.rank() == last()) {
      pauses_ = silence_.paused;
      if (silence_.paused) step().wait();  // comes as far as its engine lets it
      counted_.wait();
      if (!silence_.paused) step().wait();
    } else {
      const Handle handle = step();
      expect_quiet(engine, silence_);
      counted_.count_down();
      if (silence_.paused && engine.rank() == 0) counted_.wait(), go_on_.count_down();
      handle.wait();
    }
    engine.world().barrier().wait();
  }

  const Silence silence_;
  std::ostringstream said_;
  const Log log_{{.stream = &said_}};
  std::latch learnt_, counted_, go_on_{1};
  std::atomic<bool> pauses_ = false;
};

// A part of a bucket is submitted, and what the program waits for belongs to another group: the engine looks whether
// others wait for the bucket.
class SilentBucket {
 public:
  explicit SilentBucket(const Silence& silence) : silence_(silence), counted_(silence.place.ranks - 1) {}

  void run() {
    const tests::Watchdog watchdog(3min, tests::current_test());
    ThreadJob job(silence_.place.ranks, silence_.place.nodes);
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < silence_.place.ranks; ++rank)
      threads.emplace_back(
          [&, rank] { run_rank(*job.engine(rank, {.stall_warn = silence_.warn, .log = Log({.stream = &said_})})); });
  }

 private:
  void run_rank(Engine& engine) {
    const int ranks = silence_.place.ranks;
    std::vector<int> backwards;
    for (int other = ranks - 1; other >= 0; --other) backwards.push_back(other);
    const Group others = engine.make_group(backwards);
    std::vector<float> first(10, 1.0f), second(10, 1.0f), third(10, 1.0f);
    const auto begin = [&](const char* name, std::vector<float>& values) {
      return engine.world().allreduce(name, buffer_of(values));
    };
    for (int i = 0; i < 5; ++i) {
      const Handle one = begin("first", first), two = begin("second", second);
      one.wait(), two.wait();
    }
    const bool late = engine.rank() == ranks - 1;
    if (late) counted_.wait();
    const Handle one = begin("first", first);
    const Handle elsewhere = others.allreduce("third", buffer_of(third));
    if (!late) {
      elsewhere.poll();  // the program wants it
      expect_quiet(engine, silence_, 1100ms);
      counted_.count_down();
    }
    elsewhere.wait();
    const Handle two = begin("second", second);
    one.wait(), two.wait();
    engine.world().barrier().wait();
  }

  const Silence silence_;
  std::ostringstream said_;
  std::latch counted_;
};

// All jobs wait in the same seconds.
template <class Job>
void run_together(std::initializer_list<Silence> silences) {
  std::vector<std::future<void>> jobs;
  for (const Silence& silence : silences)
    jobs.push_back(std::async(std::launch::async, [silence] { Job(silence).run(); }));
  for (std::future<void>& job : jobs) job.get();
}

TEST(EngineSilence, WhoWaitsWakesSeldom) {
  run_together<SilentJob>({{{3, 1}, 400ms, false},
                           {{3, 1}, 30s, false},
                           {{3, 3}, 30s, false},
                           {{6, 3}, 30s, false},
                           {{3, 3}, 400ms, false},
                           {{3, 3}, 400ms, true},
                           {{6, 3}, 1s, false}});
}

TEST(EngineSilence, WhoWaitsInAnotherGroupWakesSeldomAfterTheFirstSecond) {
  // Nothing is reported meanwhile.
  run_together<SilentBucket>({{{3, 1}, 30s, false}, {{3, 3}, 30s, false}, {{6, 3}, 30s, false}});
}

}  // namespace
}  // namespace ronde::comm
