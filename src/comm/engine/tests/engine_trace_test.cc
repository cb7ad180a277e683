#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "ronde/base/testing/folder.h"
#include "ronde/base/text/format.h"
#include "ronde/comm/testing/ranks.h"
#include "ronde/trace/file/run.h"
#include "ronde/trace/span.h"

// What an engine records, read back from the files.
namespace ronde::comm {
namespace {

using trace::Collective;

// So late that the other rank waits by then, however busy the machine is.
constexpr std::chrono::milliseconds kLate{100};

// Ranks as threads, each with a recorder, as a training has it.
trace::Run record(int ranks, const std::function<void(Engine&, trace::Recorder&)>& body,
                  const EngineOptions& asked = {}) {
  const tests::Watchdog watchdog(std::chrono::minutes(3), tests::current_test());
  const ronde::tests::Folder folder;
  {
    ThreadJob job(ranks);
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < ranks; ++rank)
      threads.emplace_back([&, rank] {
        trace::Recorder recorder({.folder = folder.path(), .rank = rank, .world_size = ranks});
        const trace::Scope scope(recorder, "training");
        EngineOptions options = asked;
        options.recorder = &recorder;
        const auto engine = job.engine(rank, options);
        body(*engine, recorder);
      });
  }
  return trace::read_run(folder.path());
}

// Gradients of a step, submitted one after the other and then waited for.
void run_step(const Engine& engine, std::vector<std::vector<float>>& values) {
  std::vector<Handle> handles;
  for (std::size_t i = 0; i < values.size(); ++i)
    handles.push_back(engine.world().allreduce(fmt::format("gradient {}", i), buffer_of(values[i])));
  for (const Handle& handle : handles) handle.wait();
}

std::vector<std::vector<float>> gradients() {
  std::vector<std::vector<float>> values;
  for (std::size_t i = 0; i < 6; ++i) values.emplace_back(100 * (i + 1), 1.0F);
  return values;
}

std::size_t waits(const trace::Run& run, const trace::RankTrace& rank) {
  const auto name = run.names.find(trace::span_names::kWaitForCommunication);
  if (!name) return 0;
  return static_cast<std::size_t>(std::ranges::count(rank.training()->spans, *name, &trace::LaneSpan::name));
}

// Rank 1 records nothing of the first steps, and the two still call the same collective by the same number.
TEST(EngineTrace, ACollectiveHasTheSameNumberOnAllMembersWhateverWasRecorded) {
  const trace::Run run = record(2,
                                [](Engine& engine, trace::Recorder& recorder) {
                                  auto values = gradients();
                                  if (engine.rank() == 1) recorder.stop();
                                  for (int step = 0; step < 6; ++step) {
                                    engine.world().barrier().wait();
                                    if (step == 3) recorder.start();
                                    run_step(engine, values);
                                  }
                                },
                                {.fusion_bytes = 1024, .first_bucket_bytes = 256});
  ASSERT_EQ(run.ranks.size(), 2U);
  std::map<std::uint64_t, const Collective*> of_zero;
  for (const Collective& one : run.ranks[0].collectives) {
    EXPECT_TRUE(of_zero.emplace(one.sequence, &one).second) << one.sequence << " twice";
    EXPECT_EQ(run.names.text(one.group), "world");
  }
  const auto& late = run.ranks[1].collectives;
  ASSERT_GE(late.size(), 6U);
  ASSERT_LT(late.size(), of_zero.size());
  for (const Collective& one : late) {
    ASSERT_TRUE(of_zero.contains(one.sequence)) << one.sequence;
    EXPECT_EQ(one.bytes, of_zero[one.sequence]->bytes) << one.sequence;
    EXPECT_EQ(one.requests, of_zero[one.sequence]->requests) << one.sequence;
    EXPECT_EQ(one.name, of_zero[one.sequence]->name) << one.sequence;
  }
  EXPECT_GT(late.front().sequence, 0U) << "what came before counts";
}

// A bucket of several requests: the first was there before the last, and both before anything moved.
TEST(EngineTrace, ACollectiveTellsWhenItsRequestsCame) {
  constexpr std::chrono::milliseconds kBetween{5};
  const trace::Run run = record(2, [&](Engine& engine, trace::Recorder&) {
    std::vector<float> a(64), b(64);
    for (int step = 0; step < 4; ++step) {
      const Handle first = engine.world().allreduce("a", buffer_of(a));
      std::this_thread::sleep_for(kBetween);
      const Handle second = engine.world().allreduce("b", buffer_of(b));
      first.wait();
      second.wait();
    }
  });
  for (const trace::RankTrace& rank : run.ranks) {
    bool both = false;
    for (const Collective& one : rank.collectives) {
      EXPECT_LE(one.first_arrival, one.arrival);
      EXPECT_LE(one.arrival, one.time.begin);
      if (one.requests != 2) continue;
      both = true;
      EXPECT_GE(one.arrival - one.first_arrival, std::chrono::nanoseconds(kBetween).count());
    }
    EXPECT_TRUE(both) << "no bucket of two on rank " << rank.rank;
  }
}

TEST(EngineTrace, OnlyWhoHasToWaitIsSeenWaiting) {
  std::atomic<bool> waits_now = false;
  const trace::Run run = record(2, [&](Engine& engine, trace::Recorder&) {
    std::vector<float> values(16);
    if (engine.rank() == 1) {
      while (!waits_now) std::this_thread::yield();
      std::this_thread::sleep_for(kLate);
    }
    const Handle handle = engine.world().allreduce("a", buffer_of(values));
    waits_now = true;
    if (engine.rank() == 1)
      while (!handle.poll()) std::this_thread::yield();
    handle.wait();
    handle.wait();
  });
  ASSERT_EQ(run.ranks.size(), 2U);
  EXPECT_EQ(waits(run, run.ranks[0]), 1U);
  EXPECT_EQ(waits(run, run.ranks[1]), 0U);
}

TEST(EngineTrace, CallsThatWaitByThemselvesAreSeenToo) {
  const trace::Run run = record(2, [](Engine& engine, trace::Recorder&) {
    const auto be_late = [&] {
      if (engine.rank() == 1) std::this_thread::sleep_for(kLate);
    };
    be_late();
    const Group both = engine.make_group({0, 1});
    be_late();
    both.run({.operation = Operation::Barrier});
    be_late();
    engine.drop_group(both);
  });
  EXPECT_EQ(waits(run, run.ranks.at(0)), 3U);
}

}  // namespace
}  // namespace ronde::comm
