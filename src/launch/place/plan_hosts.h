#pragma once

#include <optional>
#include <string>

#include "ronde/base/settings/environment.h"
#include "ronde/launch/cluster/allocation.h"
#include "ronde/launch/place/hosts.h"

namespace ronde::launch {

// As the user gave them; empty: not given.
struct HostFlags {
  std::string hosts = {};     // -H
  std::string hostfile = {};  // --hostfile
  RankCount count = {};
};

// Where the ranks of a job go.
struct HostPlan {
  Placement placement;
  std::vector<Host> hosts = {};             // all that may be used, spare ones too
  std::optional<Scheduler> scheduler = {};  // the hosts come from its job
  bool here = true;                         // all ranks are on this machine
};

// The hosts of a flag or a file; otherwise those of the batch job that we are in; otherwise this machine. Pure, but for
// the files that `read` reads.
// FAILS WITH: BadInput, also when nothing says how many ranks there shall be.
HostPlan plan_hosts(const HostFlags& flags, const Environment& environment, const std::string& this_host,
                    const ReadFile& read);

// A whole file. FAILS WITH: BadInput, naming it.
std::string read_whole_file(const std::string& path);

}  // namespace ronde::launch
