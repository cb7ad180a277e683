#include <algorithm>
#include <chrono>
#include <csignal>
#include <latch>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ronde/base/error.h"
#include "ronde/base/system/file_descriptor.h"
#include "ronde/comm/socket_bootstrap.h"
#include "ronde/comm/testing/failures.h"
#include "ronde/comm/testing/ranks.h"
#include "ronde/comm/thread_job.h"

// Engines with few descriptors, and those that forked children inherit.
namespace ronde::comm {
namespace {

using namespace std::chrono_literals;
using tests::failure_of;

class SoftLimit {
 public:
  explicit SoftLimit(rlim_t descriptors) {
    getrlimit(RLIMIT_NOFILE, &before_);
    rlimit low = before_;
    low.rlim_cur = descriptors;
    setrlimit(RLIMIT_NOFILE, &low);
  }
  SoftLimit(const SoftLimit&) = delete;
  SoftLimit& operator=(const SoftLimit&) = delete;
  ~SoftLimit() { setrlimit(RLIMIT_NOFILE, &before_); }
  rlim_t hard() const { return before_.rlim_max; }

 private:
  rlimit before_{};
};

std::unique_ptr<Engine> join(const std::string& address, int rank, int ranks, int nodes) {
  EngineOptions options{.arena_bytes = 64 << 20, .stall_abort = tests::kTestTimeout, .pretend_nodes = nodes};
  return std::make_unique<Engine>(connect_bootstrap(address, rank, ranks, Deadline::after(tests::kTestTimeout)),
                                  options);
}

TEST(EngineDescriptors, AnEngineMayUseAsManyAsTheSystemAllows) {
  const SoftLimit low(200);
  const SocketBootstrapServer server(1);
  const auto engine = join(server.address(), 0, 1, 1);
  rlimit now{};
  getrlimit(RLIMIT_NOFILE, &now);
  EXPECT_EQ(now.rlim_cur, low.hard());
}

// Ranks 0 and 3 of four nodes are not connected before they first have something to say.
TEST(EngineDescriptors, WithoutAnyLeftEnginesSaySoAndEnd) {
  ThreadJob job(4, 4);
  std::latch ready(4), tried(4);
  std::optional<SoftLimit> none;
  tests::run_job(job,
                 [&](std::unique_ptr<Engine>& engine) {
                   std::vector<float> values(10, 1.0f);
                   const Group world = engine->world();
                   ready.arrive_and_wait();
                   if (engine->rank() == 0) {
                     none.emplace(3);  // the first three are taken, whatever else is
                     const auto error = failure_of(world.send("word", buffer_of(values), 3));
                     EXPECT_TRUE(error.has_value());
                     const std::string text = error ? error->what() : "";
                     EXPECT_NE(text.find("out of file descriptors (limit 3)"), std::string::npos) << text;
                   }
                   tried.arrive_and_wait();
                   engine.reset();
                 },
                 {.stall_abort = tests::kTestTimeout});
}

class ForkedChild : public testing::TestWithParam<int> {};

// Rank 1 of a job without a launcher: it works, leaves a child behind that sleeps, and is killed.
[[noreturn]] void be_rank_1(int from_parent, int to_parent, int nodes) {
  std::string address(200, '\0');
  const ssize_t length = read(from_parent, address.data(), address.size());
  address.resize(static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
  const auto engine = join(address, 1, 2, nodes);
  std::vector<float> values(10, 1.0f);
  engine->world().allreduce("together", buffer_of(values)).wait();
  char done = 0;
  (void)!read(from_parent, &done, 1);  // rank 0 needs nothing more of us
  const pid_t sleeper = fork();
  if (sleeper == 0)
    for (;;) pause();
  (void)!write(to_parent, &sleeper, sizeof(sleeper));
  kill(getpid(), SIGKILL);
  for (;;) pause();
}

TEST_P(ForkedChild, DoesNotHideTheDeathOfItsParent) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the thread sanitizer ends a forked child that starts threads";
#endif
  const tests::Watchdog watchdog(2min, tests::current_test());
  int down[2], up[2];
  ASSERT_EQ(pipe(down), 0);
  ASSERT_EQ(pipe(up), 0);
  const pid_t child = fork();
  if (child == 0) be_rank_1(down[0], up[1], GetParam());
  const FileDescriptor ends[] = {FileDescriptor(down[0]), FileDescriptor(down[1]), FileDescriptor(up[0]),
                                 FileDescriptor(up[1])};
  {
    const SocketBootstrapServer server(2);
    ASSERT_EQ(write(down[1], server.address().data(), server.address().size()),
              static_cast<ssize_t>(server.address().size()));
    const auto engine = join(server.address(), 0, 2, GetParam());
    std::vector<float> values(10, 1.0f);
    engine->world().allreduce("together", buffer_of(values)).wait();
    ASSERT_EQ(write(down[1], "x", 1), 1);
    const auto begin = monotonic_now();
    tests::expect_lost(failure_of(engine->world(), values), 1, begin);
  }
  pid_t sleeper = -1;
  ASSERT_EQ(read(up[0], &sleeper, sizeof(sleeper)), static_cast<ssize_t>(sizeof(sleeper)));
  EXPECT_EQ(kill(sleeper, 0), 0) << "it lives on";
  kill(sleeper, SIGKILL);
  waitpid(child, nullptr, 0);
}

INSTANTIATE_TEST_SUITE_P(EngineDescriptors, ForkedChild, testing::Values(1, 2),
                         [](const auto& nodes) { return std::to_string(nodes.param) + "Nodes"; });

}  // namespace
}  // namespace ronde::comm
