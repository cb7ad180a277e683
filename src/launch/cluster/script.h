#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "ronde/launch/cluster/allocation.h"

// Batch scripts, ready to be submitted. All pure.
namespace ronde::launch {

// How many ranks on how many nodes; 0: not said.
struct JobShape {
  int ranks = 0, nodes = 0, per_node = 0;
  friend bool operator==(const JobShape&, const JobShape&) = default;
};

// Fills in what follows from the rest; one node where nothing says otherwise.
// FAILS WITH: BadInput when nothing says how many ranks, or when they do not fit together.
JobShape complete(JobShape shape);

struct ScriptRequest {
  Scheduler scheduler = Scheduler::Slurm;
  JobShape shape = {};                                       // complete
  std::chrono::seconds time = std::chrono::hours(1);         // the limit
  int gpus_per_node = 0;                                     // 0: none are asked for
  std::string account = {}, queue = {}, job_name = "ronde";  // the first two empty: a line to fill in
  std::vector<std::string> command = {};                     // "ronde", "run", ...: takes hosts and ranks from the job
};

std::string batch_script(const ScriptRequest& request);

}  // namespace ronde::launch
