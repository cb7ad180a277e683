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
#include "ronde/comm/thread_job.h"

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

class SilentJob {
 public:
  explicit SilentJob(const Silence& silence)
      : silence_(silence), learnt_(silence.place.ranks), counted_(silence.place.ranks - 1) {}

  void run() {
    const tests::Watchdog watchdog(3min, tests::current_test());
    ThreadJob job(silence_.place.ranks, silence_.place.nodes);
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < silence_.place.ranks; ++rank)
      threads.emplace_back([&, rank] { run_rank(*job.engine(rank, options_of(rank))); });
    threads.clear();
    if (silence_.warn < 2s) {
      EXPECT_NE(said_.str().find(fmt::format("rank {}", last())), std::string::npos)
          << name_of(silence_) << ": " << said_.str();
    }
  }

 private:
  int last() const { return silence_.place.ranks - 1; }

  EngineOptions options_of(int rank) {
    EngineOptions options{.stall_warn = silence_.warn, .log = log_};
    // The last rank stops wherever its engine comes next, until it may go on.
    if (rank == last())
      options.on_phase = [this](Phase) {
        if (pauses_.load()) go_on_.wait();
      };
    return options;
  }

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
      expect_quiet(engine);
      counted_.count_down();
      if (silence_.paused && engine.rank() == 0) counted_.wait(), go_on_.count_down();
      handle.wait();
    }
    engine.world().barrier().wait();
  }

  static void expect_quiet(Engine& engine, std::chrono::milliseconds settle = 300ms) {
    std::this_thread::sleep_for(settle);  // until all that can move has
    const Statistics before = engine.statistics();
    std::this_thread::sleep_for(std::chrono::seconds(kSeconds));
    const Statistics after = engine.statistics();
    const std::string who = fmt::format("{}, rank {}", name_of(silence_), engine.rank());
    const auto watchdogs = after.watchdog_wake_ups - before.watchdog_wake_ups;
    EXPECT_LE(after.wake_ups - before.wake_ups + watchdogs, kSeconds * kMostPerSecond)
        << who << ", " << watchdogs << " of its watchdog";
    EXPECT_LE(after.control_messages - before.control_messages, kSeconds * kMostPerSecond) << who;
  }

  const Silence silence_;
  std::ostringstream said_;
  const Log log_{{.stream = &said_}};
  std::latch learnt_, counted_, go_on_{1};
  std::atomic<bool> pauses_ = false;
};

// All jobs wait in the same seconds.
TEST(EngineSilence, WhoWaitsWakesSeldom) {
  std::vector<std::future<void>> jobs;
  for (const Silence& silence :
       {Silence{{3, 1}, 400ms, false}, Silence{{3, 3}, 30s, false}, Silence{{3, 3}, 400ms, false},
        Silence{{3, 3}, 400ms, true}, Silence{{6, 3}, 1s, false}})
    jobs.push_back(std::async(std::launch::async, [silence] { SilentJob(silence).run(); }));
  for (std::future<void>& job : jobs) job.get();
}

// A part of a bucket is submitted, and what the program waits for belongs to another group: the engine looks whether
// others wait for the bucket.
TEST_P(EngineSilence, WhoWaitsInAnotherGroupWakesSeldomAfterTheFirstSecond) {
  const auto& [place, warn, paused] = GetParam();
  if (paused) GTEST_SKIP() << "the program is late, not the process";
  const tests::Watchdog watchdog(3min, tests::current_test());
  std::ostringstream said;
  ThreadJob job(place.ranks, place.nodes);
  std::latch counted(place.ranks - 1);
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < place.ranks; ++rank)
    threads.emplace_back([&, rank] {
      const auto engine = job.engine(rank, {.stall_warn = warn, .log = Log({.stream = &said})});
      std::vector<int> ranks;
      for (int other = place.ranks - 1; other >= 0; --other) ranks.push_back(other);
      const Group others = engine->make_group(ranks);
      std::vector<float> first(10, 1.0f), second(10, 1.0f), third(10, 1.0f);
      const auto begin = [&](const char* name, std::vector<float>& values) {
        return engine->world().allreduce(name, buffer_of(values));
      };
      for (int i = 0; i < 5; ++i) {
        const Handle one = begin("first", first), two = begin("second", second);
        one.wait(), two.wait();
      }
      const bool late = rank == last();
      if (late) counted.wait();
      const Handle one = begin("first", first);
      const Handle elsewhere = others.allreduce("third", buffer_of(third));
      if (!late) {
        elsewhere.poll();  // the program wants it
        expect_quiet(*engine, 1100ms);
        counted.count_down();
      }
      elsewhere.wait();
      const Handle two = begin("second", second);
      one.wait(), two.wait();
      engine->world().barrier().wait();
    });
}

INSTANTIATE_TEST_SUITE_P(All, EngineSilence,
                         testing::Values(Silence{{3, 1}, 400ms, false}, Silence{{3, 3}, 30s, false},
                                         Silence{{3, 3}, 400ms, false}, Silence{{3, 3}, 400ms, true},
                                         Silence{{6, 3}, 1s, false}),
                         silence_name);

}  // namespace
}  // namespace ronde::comm
