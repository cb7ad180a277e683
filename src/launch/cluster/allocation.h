#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ronde/base/settings/environment.h"
#include "ronde/launch/place/hosts.h"

// What a batch system says about the job that we run in. Pure: variables and files come in.
namespace ronde::launch {

enum class Scheduler { Slurm, Lsf, Pbs };
std::string_view name(Scheduler scheduler);        // "Slurm"
Scheduler parse_scheduler(std::string_view name);  // "slurm". FAILS WITH: BadInput, listing the names there are
std::optional<Scheduler> scheduler_of(const Environment& environment);  // of the job that we are in, if in any

struct Allocation {
  Scheduler scheduler = Scheduler::Slurm;
  std::vector<Host> hosts;
  int ranks = 0;  // that the job asked for; 0: it did not say, or as many as there are slots
};

using ReadFile = std::function<std::string(const std::string& path)>;

// The hosts of the job that we are in: SLURM_JOB_NODELIST and its sisters; LSB_DJOB_HOSTFILE or LSB_MCPU_HOSTS without
// the host that only runs the batch script; PBS_NODEFILE. Nothing outside of a job.
// FAILS WITH: BadInput when a variable or file cannot be understood, naming it; whatever `read` fails with.
std::optional<Allocation> allocation_from(const Environment& environment, const ReadFile& read);

// "n[01-03,7],gpu[1-2]-ib" -> n01 n02 n03 n7 gpu1-ib gpu2-ib. Several brackets in a name multiply.
// FAILS WITH: BadInput, naming `origin`.
std::vector<std::string> expand_nodelist(std::string_view text, std::string_view origin);

}  // namespace ronde::launch
