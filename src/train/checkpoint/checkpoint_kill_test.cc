#include <csignal>
#include <stdexcept>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ronde/train/checkpoint_testing.h"

namespace ronde::train {
namespace {

using tests::sample;

class KilledWriterDeathTest : public tests::InFolder {
 protected:
  // Saves one checkpoint after the other, and says each time through `told` that it is done.
  [[noreturn]] void save_forever(int told) const {
    at::set_num_threads(1);  // torch's threads do not live on in a forked child
    try {
      for (std::int64_t step = 1;; ++step) {
        save_checkpoint({.folder = folder_, .keep = 2}, sample(step, 200'000));
        if (write(told, &step, sizeof(step)) != sizeof(step)) _exit(1);
      }
    } catch (...) {
      _exit(2);
    }
  }

  // The last step that a writer has called done before it was killed.
  std::int64_t kill_after(int microseconds) const {
    int pipe_ends[2];
    if (pipe(pipe_ends) != 0) throw std::runtime_error("no pipe");
    const pid_t child = fork();
    if (child == 0) save_forever(pipe_ends[1]);
    close(pipe_ends[1]);
    std::int64_t step = 0, done = 0;
    if (read(pipe_ends[0], &step, sizeof(step)) == sizeof(step)) done = step;  // it is on its way
    usleep(static_cast<useconds_t>(microseconds));
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status));
    while (read(pipe_ends[0], &step, sizeof(step)) == sizeof(step)) done = step;
    close(pipe_ends[0]);
    return done;
  }
};

TEST_F(KilledWriterDeathTest, LeavesTheLastOneWhole) {
  for (int round = 0; round < 25; ++round) {
    std::filesystem::remove_all(folder_);
    const std::int64_t done = kill_after(1 + round * 1373);
    ASSERT_GE(done, 1);
    std::vector<std::string> warnings;
    const auto newest = load_newest_checkpoint(folder_, [&](const std::string& text) { warnings.push_back(text); });
    ASSERT_TRUE(newest);
    EXPECT_TRUE(warnings.empty()) << warnings.front();
    EXPECT_GE(newest->info.step, done);  // one more may be in place that it had no time to tell of
    EXPECT_LE(newest->info.step, done + 1);
    tests::expect_equal(*newest, sample(newest->info.step, 200'000));
  }
}

}  // namespace
}  // namespace ronde::train
