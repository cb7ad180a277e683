#include "ronde/launch/place/where.h"

#include <gtest/gtest.h>

#include "ronde/base/error.h"

namespace ronde::launch {
namespace {

using topology::CpuSet;

constexpr const char* kStatus = "Name:\tpython\nCpus_allowed:\tff\nCpus_allowed_list:\t0-3,8\nMems_allowed_list:\t0\n";

// As the kernel writes it, with the processor as the 39th field.
std::string stat_of(const std::string& name, const std::string& state, int cpu) {
  std::string text = "4711 (" + name + ") " + state;
  for (int field = 4; field <= 52; ++field) text += field == 39 ? " " + std::to_string(cpu) : " 0";
  return text + "\n";
}

ThreadPlacement placement(pid_t id, CpuSet allowed, int last, bool running = false) {
  return {.id = id, .name = "python", .running = running, .allowed = std::move(allowed), .last_cpu = last};
}

RankProcess process(const char* job, int rank, pid_t pid, std::vector<ThreadPlacement> threads) {
  return {.job = job,
          .rank = rank,
          .size = 2,
          .pid = pid,
          .parent = 7,
          .command = "python train.py",
          .owned = CpuSet{2 * rank, 2 * rank + 1},
          .threads = std::move(threads)};
}

TEST(Where, ReadsAThreadAsTheKernelTellsIt) {
  const auto thread = parse_thread(stat_of("a) b", "R", 8), kStatus);
  ASSERT_TRUE(thread);
  EXPECT_EQ(thread->id, 4711);
  EXPECT_EQ(thread->name, "a) b");
  EXPECT_TRUE(thread->running);
  EXPECT_EQ(thread->last_cpu, 8);
  EXPECT_EQ(thread->allowed.format(), "0-3,8");
  EXPECT_FALSE(parse_thread("", kStatus)) << "it has ended while we looked";
  EXPECT_FALSE(parse_thread(stat_of("x", "S", 1), ""));
  EXPECT_FALSE(parse_thread("4711 (x) S 1 2", kStatus));
}

TEST(Where, AStrayMayRunOrRunsElsewhere) {
  const auto rank = process("5", 1, 20,
                            {placement(20, {2, 3}, 2), placement(21, {2}, 2), placement(22, {1, 2}, 2),
                             placement(23, {2, 3}, 0, true), placement(24, {2, 3}, 0)});
  std::vector<pid_t> ids;
  for (const ThreadPlacement& thread : stray_threads(rank)) ids.push_back(thread.id);
  EXPECT_EQ(ids, (std::vector<pid_t>{22, 23})) << "24 sleeps since before it was bound";
}

TEST(Where, AJobIsMeantByItsNumberOrAProcess) {
  const std::vector all{process("5", 0, 20, {}), process("5", 1, 21, {}), process("6", 0, 30, {})};
  EXPECT_EQ(choose_job(all, "").size(), 3u);
  EXPECT_EQ(choose_job(all, "5").size(), 2u);
  EXPECT_EQ(choose_job(all, "21").size(), 2u);
  EXPECT_EQ(choose_job(all, "30").front().job, "6");
  try {
    choose_job(all, "99");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::BadInput);
    EXPECT_EQ(error.message(),
              "there is no job 99 on this machine, nor a job with a process of that number; running jobs: 5, 6");
  }
  EXPECT_THROW(choose_job({}, "5"), Error);
}

TEST(Where, SaysItInATableAndNamesStrays) {
  EXPECT_EQ(describe_placements({process("5", 0, 20, {placement(20, {0, 1}, 0)}),
                                 process("5", 0, 25, {placement(25, {0}, 0)}),
                                 process("5", 1, 21, {placement(21, {2}, 2), placement(22, {0, 1, 2, 3}, 1)})}),
            "job 5: python train.py\n"
            "rank  pid  owns cpus  processes  threads  elsewhere\n"
            "   0   20  0-1                2        2          0\n"
            "   1   21  2-3                1        2          1\n"
            "rank 1: thread 22 (python) of process 21 may run on cpus 0-3 and was last on cpu 1; its rank owns cpus "
            "2-3\n");
  EXPECT_EQ(
      describe_placements({process("5", 1, 21, {placement(21, {2}, 2)}), process("6", 0, 30, {placement(30, {0}, 0)})}),
      "job 5: python train.py\n"
      "1 of its 2 ranks are on this machine\n"
      "rank  pid  owns cpus  processes  threads  elsewhere\n"
      "   1   21  2-3                1        1          0\n"
      "every thread stays on the cpus of its rank\n"
      "\n"
      "job 6: python train.py\n"
      "1 of its 2 ranks are on this machine\n"
      "rank  pid  owns cpus  processes  threads  elsewhere\n"
      "   0   30  0-1                1        1          0\n"
      "every thread stays on the cpus of its rank\n");
}

}  // namespace
}  // namespace ronde::launch
