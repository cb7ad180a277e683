#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ronde/base/settings/environment.h"

// When the batch system will end the job that we are in. Pure, but for `ask`.
namespace ronde::launch {

// Runs a command and returns what it prints; nothing when it fails.
using Ask = std::function<std::optional<std::string>(const std::vector<std::string>& command)>;

// Slurm: SLURM_JOB_END_TIME, otherwise squeue; LSF: bjobs; PBS: qstat. In seconds since 1970, UTC. Nothing outside of a
// job, for a job without a limit, or when the batch system does not answer in a way that we know.
std::optional<std::int64_t> job_end(const Environment& environment, std::chrono::system_clock::time_point now,
                                    const Ask& ask);

// What is left, from what these commands print:
//   squeue --noheader --format=%L       "1-02:03:04", "03:04", "UNLIMITED"
//   bjobs -noheader -o time_left        "3:12 L" (hours and minutes)
//   qstat -f                            the difference of the job's two walltimes
std::optional<std::chrono::seconds> squeue_time_left(std::string_view text);
std::optional<std::chrono::seconds> bjobs_time_left(std::string_view text);
std::optional<std::chrono::seconds> qstat_time_left(std::string_view text);

// A time limit as batch systems write it: "02:30:00".
std::string clock_text(std::chrono::seconds time);

}  // namespace ronde::launch
