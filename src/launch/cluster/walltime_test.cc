#include "ronde/launch/cluster/walltime.h"

#include <gtest/gtest.h>

#include "ronde/base/text/text.h"

namespace ronde::launch {
namespace {

using namespace std::chrono_literals;
using std::chrono::seconds;

std::optional<std::string> nobody(const std::vector<std::string>& command) {
  ADD_FAILURE() << join(command, " ");
  return {};
}

const std::chrono::system_clock::time_point kNow{1000s};

TEST(Walltime, FromSqueue) {
  EXPECT_EQ(squeue_time_left("1-02:03:04\n"), seconds(93784));
  EXPECT_EQ(squeue_time_left("      3:04"), 184s);
  EXPECT_EQ(squeue_time_left("02:00:00"), 2h);
  for (const auto* text : {"", "UNLIMITED", "INVALID", "1-", "-1:00", "1:2:3:4", "x-01:00"})
    EXPECT_EQ(squeue_time_left(text), std::nullopt) << text;
}

TEST(Walltime, FromBjobs) {
  EXPECT_EQ(bjobs_time_left("3:12 L\n"), 3h + 12min);
  EXPECT_EQ(bjobs_time_left("0:05 E"), 5min);
  EXPECT_EQ(bjobs_time_left("-\n"), std::nullopt);
}

TEST(Walltime, FromQstat) {
  EXPECT_EQ(
      qstat_time_left("Job Id: 7\n    resources_used.walltime = 00:47:10\n    Resource_List.walltime = 04:00:00\n"),
      4h - 47min - 10s);
  EXPECT_EQ(qstat_time_left("    Resource_List.walltime = 01:00:00\n"), 1h);
  EXPECT_EQ(qstat_time_left("Job Id: 7\n"), std::nullopt);
}

TEST(Walltime, OfTheJobThatWeAreIn) {
  EXPECT_EQ(job_end({{"PATH", "x"}}, kNow, nobody), std::nullopt);
  EXPECT_EQ(job_end({{"SLURM_JOB_ID", "7"}, {"SLURM_JOB_END_TIME", "5000"}}, kNow, nobody), 5000);
  const auto said = [](const std::string& expected, const std::string& answer) {
    return [=](const std::vector<std::string>& command) -> std::optional<std::string> {
      EXPECT_EQ(join(command, " "), expected);
      return answer;
    };
  };
  EXPECT_EQ(job_end({{"SLURM_JOB_ID", "7"}}, kNow, said("squeue --noheader --format=%L --jobs 7", "10:00\n")), 1600);
  EXPECT_EQ(job_end({{"LSB_JOBID", "8"}}, kNow, said("bjobs -noheader -o time_left 8", "0:10 L\n")), 1600);
  EXPECT_EQ(job_end({{"PBS_JOBID", "9"}}, kNow, said("qstat -f 9", " Resource_List.walltime = 00:10:00\n")), 1600);
  EXPECT_EQ(job_end({{"PBS_JOBID", "9"}}, kNow, [](const auto&) { return std::nullopt; }), std::nullopt);
}

TEST(Walltime, IsWrittenAsBatchSystemsDo) {
  EXPECT_EQ(clock_text(2h + 30min), "02:30:00");
  EXPECT_EQ(clock_text(100h + 5s), "100:00:05");
}

}  // namespace
}  // namespace ronde::launch
