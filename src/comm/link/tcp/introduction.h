#pragma once

#include <string>
#include <vector>

#include "ronde/topology/cpu_quota.h"

// What ranks tell each other when they first meet.
namespace ronde::comm::detail {

// A rank of the job, as it introduces itself to the others.
struct Introduction {
  std::string host;
  std::string node;     // ranks with the same one share memory; see identify()
  std::string address;  // of a socket where ranks of the same node find it
  int pid = 0;
  std::string cpus = {};                        // that it may use
  std::string machine = {};                     // see identify()
  std::vector<topology::CpuQuota> quotas = {};  // of its control groups
};

// What tells machines apart. Pure.
struct Identity {
  std::string machine;  // its ranks reach each other by the loopback
  std::string node;     // its ranks share memory, too
};
// Containers may share a host name and cloned machines a boot id, but not both; and who is in another network namespace
// of a machine can be reached by the network alone, as if it were another machine.
Identity identify(const std::string& boot_id, const std::string& network, const std::string& host);
std::string write_introduction(const Introduction& mine);
// FAILS WITH: System for text that is none.
Introduction read_introduction(const std::string& text);

}  // namespace ronde::comm::detail
