#pragma once

#include <string>
#include <vector>

#include "ronde/base/settings/environment.h"
#include "ronde/cli/program/app.h"
#include "ronde/cli/run/run.h"
#include "ronde/cli/run/run_node.h"
#include "ronde/launch/cluster/container.h"
#include "ronde/launch/place/plan_hosts.h"
#include "ronde/launch/run/job.h"
#include "ronde/topology/binding.h"

// What the files of `ronde run` share.
namespace ronde::cli {

// As they were typed: CLI11 would say less than we can.
struct RunFlags {
  std::string ranks, per_host, hosts, hostfile;
  std::string launcher = "auto", mpi_args, binding_args;
  bool oversubscribe = false, tcp = false, dry_run = false, check_build = false, check = false, horovod = false;
  NodeFlags node;
  launch::Container container;
  std::string config_file, script, time, nodes, gpus, account, queue, job_name = "ronde";
};

// A job of `ronde run`, decided as far as it can be before it is known which machines it runs on.
struct RunRequest {
  const RunFlags& flags;
  const std::vector<std::string>& command;
  topology::BindingRequest binding;  // for the ranks of one machine
  Environment::Variables settings;   // for the environment of ranks
};

constexpr int kMostRanks = 65536, kMostRanksHere = 2048;

// A whole number of a flag; 0 when it was not given. FAILS WITH: BadInput.
int parse_count(const std::string& flag, const std::string& text, int most);

// The path of `ronde`.
std::string own_program();

launch::Stream stream_of(std::FILE* file, const Context& context);

// Ranks on this machine, started by ourselves.
int run_here(const RunRequest& request, const launch::HostPlan& plan, const Context& context);

// Ranks that another launcher starts.
int run_elsewhere(const RunRequest& request, const launch::HostPlan& plan, const Context& context);

// What would be started, as text that a shell can run.
std::string describe_here(const launch::Job& job, const Context& context);

// --script: the batch script for this command line.
std::string script_text(const RunFlags& flags, const RunLine& line);

// --check-build.
std::string check_build_text(const Context& context);

}  // namespace ronde::cli
