#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "ronde/topology/cpu_set.h"

// Where the threads of jobs that run on this machine sit, compared with the cpus that their ranks own.
namespace ronde::launch {

struct ThreadPlacement {
  pid_t id = 0;
  std::string name;
  bool running = false;      // at the moment
  topology::CpuSet allowed;  // where it may run
  int last_cpu = 0;          // where it has run last
};

// A rank, or a process that it has started.
struct RankProcess {
  std::string job;         // RONDE__JOB
  int rank = 0, size = 1;  // of the whole job
  pid_t pid = 0, parent = 0;
  std::string command;
  topology::CpuSet owned;
  std::vector<ThreadPlacement> threads;
};

// A thread out of /proc/PID/task/TID/stat and status; nothing when they are no such texts. Pure.
std::optional<ThreadPlacement> parse_thread(std::string_view stat, std::string_view status);

// Those of them that may run, or run right now, where their rank owns nothing. Pure.
std::vector<ThreadPlacement> stray_threads(const RankProcess& process);

// The job that `which` means, by its number or by the number of one of its processes or of `ronde run` itself; all of
// them when `which` is empty. Pure.
// FAILS WITH: BadInput, naming the jobs there are.
std::vector<RankProcess> choose_job(const std::vector<RankProcess>& processes, const std::string& which);

// A table of each job's ranks, then a line a stray thread. Pure.
// REQUIRES: processes are in the order of running_ranks().
std::string describe_placements(const std::vector<RankProcess>& processes);

// All processes of this user's jobs on this machine, by job, rank and age. Ones that end meanwhile are left out.
std::vector<RankProcess> running_ranks();

}  // namespace ronde::launch
