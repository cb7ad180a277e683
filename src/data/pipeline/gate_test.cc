#include "ronde/data/pipeline/gate.h"

#include <atomic>
#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include "ronde/data/testing/numbers.h"

namespace ronde::data {
namespace {

using namespace tests;
using namespace std::chrono_literals;

TEST(Gate, WaitsForWhatIsOnItsWayOut) {
  Budget all(100);
  Gate gate(10, all);
  auto first = gate.enter(6, {});
  first->pass();
  std::atomic<bool> in = false;
  std::jthread other([&](const std::stop_token& stop) { in = gate.enter(6, stop).has_value(); });
  std::this_thread::sleep_for(5ms);
  EXPECT_FALSE(in);
  EXPECT_EQ(all.used(), 6u);
  first->release();
  other.join();
  EXPECT_TRUE(in);
  EXPECT_EQ(all.used(), 0u);
  EXPECT_EQ(all.peak(), 6u);
}

TEST(Gate, NoRoomWillComeFromThoseWhoAsk) {
  Budget all(100);
  Gate gate(10, all);
  const auto first = gate.enter(6, {});
  EXPECT_EQ(message_of([&] { (void)gate.enter(6, {}); }),
            "the samples of a batch or buffer need more than the 10 B that data.memory leaves for them: raise "
            "data.memory, or use fewer samples");
  EXPECT_TRUE(gate.enter(4, {}));
}

// Who gathers on another thread, and has something in hand, may still let it go.
TEST(Gate, WaitsForThoseWhoDoNotAsk) {
  Budget all(100);
  Gate gate(10, all);
  gate.add_gatherer();
  auto first = gate.enter(6, {});
  std::atomic<int> outcome = 0;
  const auto enter = [&](const std::stop_token& stop) {
    try {
      outcome = gate.enter(6, stop) ? 1 : 2;
    } catch (const Error&) {
      outcome = 3;
    }
  };
  {
    std::jthread other(enter);
    std::this_thread::sleep_for(5ms);
    EXPECT_EQ(outcome, 0);
    first->release();
  }
  EXPECT_EQ(outcome, 1);
  first = gate.enter(6, {});
  {
    std::jthread other(enter);
    std::this_thread::sleep_for(5ms);
    EXPECT_EQ(outcome, 1);
    const Gate::Asking asking(&gate);
    other.join();
  }
  EXPECT_EQ(outcome, 3);
  { std::jthread stopped(enter); }  // asks it to stop
  EXPECT_EQ(outcome, 2);
}

TEST(Gate, WhatIsLargerThanAllThereIsGoesAlone) {
  Budget all(100);
  Gate gate(10, all);
  auto place = gate.enter(1000, {});
  EXPECT_EQ(all.used(), 10u);
  place->resize(3);
  EXPECT_EQ(all.used(), 3u);
  gate.expect(7);  // what comes after it will be as large as this
  place->take(std::move(*gate.enter(1, {})));
  EXPECT_EQ(all.used(), 10u);
}

}  // namespace
}  // namespace ronde::data
