#include <barrier>
#include <latch>
#include <sstream>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "ronde/comm/testing/failures.h"
#include "ronde/comm/testing/ranks.h"
#include "ronde/comm/testing/thread_gpus.h"

// What NCCL does between several ranks, with a stand-in for it: what is agreed on, reduced in a stream, and given up.
namespace ronde::comm {
namespace {

using tests::failure_of;
using tests::run_watched;
using tests::ThreadGpus;

class EngineNccl : public testing::Test {
 protected:
  EngineNccl() { options_.log = Log({.stream = &said_}); }
  // A group in which something has travelled.
  static Group connected(Engine& engine, std::vector<int> ranks) {
    Group group = engine.make_group(std::move(ranks));
    std::vector<float> values(10, 1.0F);
    if (group.rank() >= 0) group.run({.name = "first", .input = buffer_of(values)});
    return group;
  }
  static std::vector<int> all(const Engine& engine) {
    std::vector<int> ranks(static_cast<std::size_t>(engine.size()));
    for (std::size_t i = 0; i < ranks.size(); ++i) ranks[i] = static_cast<int>(i);
    return ranks;
  }

  std::ostringstream said_;
  const std::shared_ptr<ThreadGpus> gpus_ = std::make_shared<ThreadGpus>();
  const detail::EngineHooks hooks_{.nccl = gpus_};
  EngineOptions options_;
};
class EngineNcclOn : public EngineNccl, public testing::WithParamInterface<tests::Place> {};
INSTANTIATE_TEST_SUITE_P(All, EngineNcclOn,
                         testing::Values(tests::Place{1}, tests::Place{2}, tests::Place{4}, tests::Place{4, 2}),
                         tests::place_name);

struct Values {
  explicit Values(std::size_t number, int rank) : large(1001, rank + 1.0F), small(3, 10.0F * (rank + 1.0F)) {
    what = {.number = number, .buffers = {buffer_of(large), buffer_of(small)}};
    what.op = number == 0 ? ReduceOp::Sum : ReduceOp::Average;
  }
  std::vector<float> large, small;
  InStream what;
};

TEST_P(EngineNcclOn, ReducesInAStream) {
  const auto body = [&](Engine& engine) {
    const Group group = connected(engine, all(engine));
    ASSERT_EQ(group.why_not_nccl(), "");
    const device::Stream stream;
    device::Event made(stream), done(stream);
    Values sum(0, engine.rank()), average(1, engine.rank());
    EXPECT_THROW(group.allreduce_in_stream(sum.what, made, done), Error) << "nothing is reserved";
    group.reserve_in_stream({sum.what, average.what});
    group.allreduce_in_stream(sum.what, made, done);
    group.allreduce_in_stream(average.what, made, done);
    group.launched_in_stream(stream);
    const int n = engine.size();
    const float total = static_cast<float>(n) * static_cast<float>(n + 1) / 2, mean = total / static_cast<float>(n);
    EXPECT_EQ(sum.large, std::vector<float>(1001, total));
    EXPECT_EQ(sum.small, std::vector<float>(3, 10 * total));
    EXPECT_EQ(average.large, std::vector<float>(1001, mean));
    EXPECT_EQ(average.small, std::vector<float>(3, 10 * mean));
    average.what.buffers.push_back(buffer_of(sum.large));
    EXPECT_THROW(group.allreduce_in_stream(average.what, made, done), Error) << "there is no room for it";
    EXPECT_EQ(group.why_not_nccl(), "");
    engine.world().barrier().wait();
  };
  run_watched(GetParam(), body, options_, hooks_);
  EXPECT_EQ(gpus_->links(), 0);
}

TEST_F(EngineNccl, GroupsHaveLinksOfTheirOwn) {
  const auto body = [&](Engine& engine) {
    const int half = engine.rank() % 2;
    const Group even = connected(engine, {0, 2}), odd = connected(engine, {1, 3});
    const Group& mine = half == 0 ? even : odd;
    EXPECT_EQ(mine.why_not_nccl(), "");
    EXPECT_NE(engine.world().why_not_nccl().find("no GPU buffer has been sent"), std::string::npos);
    std::vector<float> values(100, static_cast<float>(engine.rank()));
    mine.run({.name = "sum", .input = buffer_of(values)});
    EXPECT_EQ(values, std::vector<float>(100, half == 0 ? 2.0F : 4.0F));
    engine.world().barrier().wait();
    EXPECT_EQ(gpus_->links(), 4);
    engine.world().barrier().wait();
    engine.drop_group(even);
    engine.drop_group(odd);
    engine.world().barrier().wait();
    EXPECT_EQ(gpus_->links(), 0);
  };
  run_watched(4, body, options_, hooks_);
}

// Where NCCL has failed on one and tells the others, its group is no more, on all ranks; others are.
TEST_F(EngineNccl, AFailureIsHeardByAll) {
  gpus_->fails = 1;
  gpus_->from = 2 * 3;
  const auto body = [&](Engine& engine) {
    const Group group = connected(engine, all(engine));
    std::vector<float> values(100, 1.0F);
    group.run({.name = "second", .input = buffer_of(values)});
    engine.world().barrier().wait();
    const auto error = failure_of(group, values);
    ASSERT_TRUE(error);
    EXPECT_NE(error->message().find("rank 1"), std::string::npos) << error->message();
    EXPECT_NE(error->message().find("it was told to fail"), std::string::npos) << error->message();
    const auto again = failure_of(group, values);
    ASSERT_TRUE(again);
    EXPECT_NE(again->message().find("it was told to fail"), std::string::npos) << again->message();
    engine.world().barrier().wait();
  };
  run_watched(3, body, options_, hooks_);
}

// Recorded steps ask nobody: they hear of it by why_not_nccl(). Nothing else wakes the engine meanwhile.
TEST_F(EngineNccl, AFailureBetweenLaunchesIsTold) {
  std::barrier all_ranks(2);
  const auto body = [&](Engine& engine) {
    const Group group = connected(engine, all(engine));
    const Values values(0, engine.rank());
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // so that it sleeps
    group.reserve_in_stream({values.what});
    all_ranks.arrive_and_wait();
    gpus_->fails = 1;  // whoever is first
    if (engine.rank() == 1) {
      const device::Stream stream;
      device::Event made(stream), done(stream);
      EXPECT_THROW(group.allreduce_in_stream(values.what, made, done), Error);
    }
    const Deadline until = Deadline::after(tests::kTestTimeout);
    while (group.why_not_nccl().empty() && !until.passed()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_NE(group.why_not_nccl().find("it was told to fail"), std::string::npos) << group.why_not_nccl();
    all_ranks.arrive_and_wait();
  };
  run_watched(2, body, options_, hooks_);
}

TEST_F(EngineNccl, AMemberThatDiesEndsIt) {
  detail::HookedJob job(2);
  job.set_hooks(hooks_);
  const auto body = [&](std::unique_ptr<Engine>& engine) {
    const Group group = connected(*engine, all(*engine));
    const Values values(0, engine->rank());
    group.reserve_in_stream({values.what});
    engine->world().barrier().wait();
    if (engine->rank() == 1) return job.kill(1);
    const Deadline until = Deadline::after(tests::kTestTimeout);
    while (group.why_not_nccl().empty() && !until.passed()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_NE(group.why_not_nccl().find("a member left"), std::string::npos) << group.why_not_nccl();
  };
  tests::run_job(job, body, options_);
}

// Its link is taken down by all together, whoever is the first to come to its end.
TEST_F(EngineNccl, MembersThatLeaveOneAfterAnotherAbortNothing) {
  const auto body = [&](Engine& engine) {
    const Group group = connected(engine, all(engine));
    const Values values(0, engine.rank());
    group.reserve_in_stream({values.what});
    engine.world().barrier().wait();
    std::this_thread::sleep_for(std::chrono::milliseconds(30 * engine.rank()));
  };
  run_watched(3, body, options_, hooks_);
  EXPECT_EQ(gpus_->aborts(), 0);
  EXPECT_EQ(gpus_->links(), 0);
}

// Before anybody has connected: all go another way, and the first says why.
TEST_F(EngineNccl, WithoutNamesItGoesThroughTheHost) {
  gpus_->no_names = true;
  const auto body = [&](Engine& engine) {
    const Group group = connected(engine, all(engine));
    EXPECT_EQ(group.why_not_nccl(),
              engine.rank() == 0 ? "NCCL has no names left" : "NCCL does not work on the first member of the group");
    std::vector<float> values(100, 1.0F);
    group.run({.name = "second", .input = buffer_of(values)});
    EXPECT_EQ(values[99], 3.0F);
    EXPECT_THROW(group.reserve_in_stream({}), Error);
  };
  run_watched(3, body, options_, hooks_);
  EXPECT_EQ(gpus_->calls(), 0);
  EXPECT_NE(said_.str().find("GPU buffers go through host memory: NCCL has no names left"), std::string::npos)
      << said_.str();
}

TEST_F(EngineNccl, WhoCannotConnectIsHeardOf) {
  gpus_->refused = 1;
  options_.start_timeout = std::chrono::seconds(2);
  std::latch heard(2);
  const auto body = [&](Engine& engine) {
    std::vector<float> values(100, 1.0F);
    const auto error = failure_of(engine.world(), values);
    heard.arrive_and_wait();  // who leaves before would be heard of itself
    ASSERT_TRUE(error);
    const std::string expected = engine.rank() == 1 ? "was refused" : "is late";
    EXPECT_NE(error->message().find(expected), std::string::npos) << error->message();
    EXPECT_NE(engine.world().why_not_nccl().find(expected), std::string::npos) << engine.world().why_not_nccl();
  };
  run_watched(2, body, options_, hooks_);
}

// NCCL wakes nobody when it has connected: who waits looks ever more seldom.
TEST_F(EngineNccl, WhoWaitsForOthersToConnectWakesSeldom) {
  constexpr int kSeconds = 2;
  gpus_->refused = 1;
  options_.start_timeout = std::chrono::seconds(kSeconds + 2);
  std::latch heard(2);
  const auto body = [&](Engine& engine) {
    std::vector<float> values(100, 1.0F);
    const Handle handle = engine.world().allreduce("weight", buffer_of(values));
    if (engine.rank() == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1200));
      const Statistics before = engine.statistics();
      std::this_thread::sleep_for(std::chrono::seconds(kSeconds));
      EXPECT_LE(engine.statistics().wake_ups - before.wake_ups, 10U * kSeconds);
      EXPECT_FALSE(handle.poll()) << "it has waited all the time";
    }
    EXPECT_TRUE(failure_of(handle));
    heard.arrive_and_wait();
  };
  run_watched(2, body, options_, hooks_);
}

}  // namespace
}  // namespace ronde::comm
