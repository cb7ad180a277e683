#include <algorithm>
#include <atomic>
#include <chrono>
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
void PrintTo(const Silence& silence, std::ostream* out) {
  *out << tests::name_of(silence.place) << (silence.paused ? "Paused" : "Late") << silence.warn.count();
}
std::string silence_name(const testing::TestParamInfo<Silence>& info) {
  std::ostringstream text;
  PrintTo(info.param, &text);
  return text.str();
}

class EngineSilence : public testing::TestWithParam<Silence> {
 protected:
  int last() const { return GetParam().place.ranks - 1; }

  // The last rank stops wherever its engine comes next, until it may go on.
  void pause_here(Phase) {
    if (pauses_.load()) go_on_.wait();
  }

  static void expect_quiet(Engine& engine, std::chrono::milliseconds settle = 300ms) {
    std::this_thread::sleep_for(settle);  // until all that can move has
    const Statistics before = engine.statistics();
    std::this_thread::sleep_for(std::chrono::seconds(kSeconds));
    const Statistics after = engine.statistics();
    const auto wakes = after.wake_ups - before.wake_ups;
    const auto watchdogs = after.watchdog_wake_ups - before.watchdog_wake_ups;
    EXPECT_LE(std::max(wakes, watchdogs), kSeconds * kMostPerSecond)
        << "rank " << engine.rank() << ", " << watchdogs << " of its watchdog";
    if (GetParam().warn >= 30s) {  // nothing is to be reported meanwhile
      EXPECT_LE(wakes + watchdogs, kSeconds * kMostPerSecond) << "rank " << engine.rank();
    }
    EXPECT_LE(after.control_messages - before.control_messages, kSeconds * kMostPerSecond) << "rank " << engine.rank();
  }

  std::atomic<bool> pauses_ = false;
  std::latch go_on_{1};
};

TEST_P(EngineSilence, WhoWaitsWakesSeldom) {
  const auto& [place, warn, paused] = GetParam();
  const tests::Watchdog watchdog(3min, tests::current_test());
  std::ostringstream said;
  EngineOptions options{.stall_warn = warn, .log = Log({.stream = &said})};
  ThreadJob job(place.ranks, place.nodes);
  std::latch learnt(place.ranks), counted(place.ranks - 1);
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < place.ranks; ++rank)
    threads.emplace_back([&, rank] {
      EngineOptions mine = options;
      if (rank == last()) mine.on_phase = [this](Phase phase) { pause_here(phase); };
      const auto engine = job.engine(rank, mine);
      std::vector<float> values(10, 1.0f);
      const auto step = [&] { return engine->world().allreduce("gradient", buffer_of(values)); };
      for (int i = 0; i < 5; ++i) step().wait();  // the plan needs three
      learnt.arrive_and_wait();
      if (rank == last()) {
        pauses_ = paused;
        if (paused) step().wait();  // comes as far as its engine lets it
        counted.wait();
        if (!paused) step().wait();
      } else {
        const Handle handle = step();
        expect_quiet(*engine);
        counted.count_down();
        if (paused && rank == 0) counted.wait(), go_on_.count_down();
        handle.wait();
      }
      engine->world().barrier().wait();
    });
  threads.clear();
  if (warn < 2s) {
    EXPECT_NE(said.str().find(fmt::format("rank {}", last())), std::string::npos) << said.str();
  }
}

// A part of a bucket is submitted, and what the program waits for belongs to another group: the engine looks whether
// others wait for the bucket.
TEST_P(EngineSilence, WhoWaitsInAnotherGroupWakesSeldomAfterTheFirstSecond) {
  const auto& [place, warn, paused] = GetParam();
  if (paused || warn < 30s) GTEST_SKIP() << "the program is late, not the process, and nothing is reported meanwhile";
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
                         testing::Values(Silence{{3, 1}, 400ms, false}, Silence{{3, 1}, 30s, false},
                                         Silence{{3, 3}, 30s, false}, Silence{{6, 3}, 30s, false},
                                         Silence{{3, 3}, 400ms, false}, Silence{{3, 3}, 400ms, true},
                                         Silence{{6, 3}, 1s, false}),
                         silence_name);

}  // namespace
}  // namespace ronde::comm
