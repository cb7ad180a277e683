#pragma once

#include <chrono>
#include <set>
#include <string>
#include <vector>

#include "ronde/launch/place/hosts.h"

// Whether a job that has ended is started again, when, and where. All pure.
namespace ronde::launch {

struct RestartRules {
  int most = 0;       // how often a job may be started again
  int min_ranks = 0;  // it may go on with as few as this, without machines that failed; 0: all that it began with
  std::chrono::nanoseconds first_delay = std::chrono::seconds(1);     // doubles each time,
  std::chrono::nanoseconds longest_delay = std::chrono::seconds(60);  // up to this
};

// How one attempt ended.
struct JobEnd {
  int exit_code = 0;
  bool interrupted = false;                  // a signal told the launcher to stop
  std::string failed_host = {};              // of the first rank that failed; empty: not known, or only one machine
  std::vector<std::string> lost_hosts = {};  // machines that no longer answer, see silent_hosts()
};

struct HostSlots {
  std::string host;
  int slots = 1;  // ranks that it can take
};

struct RestartDecision {
  bool again = false;
  std::vector<HostSlots> hosts = {};  // where; those that it was given, or all but those lost or the one that failed
  int ranks = 0;
  std::chrono::nanoseconds delay{0};
  std::string sentence = {};  // for the user; empty: nothing to be said
};

// `attempt`: 1 after the first start. `ranks`: of this attempt; `hosts` what it could use, spare ones too.
//
// Not started again: what went well, what a signal has stopped, what ended with exit code 2 (wrong input: it would be
// wrong again) or 75 (a deadline: to be continued in the next allocation). Lost machines are left out; the machine of
// the first failure then stays, because ranks fail when a peer is lost. Where no machine is lost, that of the first
// failure is left out when the others have room for min_ranks, and tried again otherwise.
RestartDecision decide_restart(const RestartRules& rules, int attempt, const JobEnd& end, int ranks,
                               const std::vector<HostSlots>& hosts);

// The machines none of whose ranks has reported how it ended, where other machines have. `hosts`: the ranks of each, in
// rank order. A rank reports within `launch.grace` of being told to stop, so these machines are down or cut off.
std::vector<std::string> silent_hosts(const std::vector<HostShare>& hosts, const std::set<int>& reported_ranks);

}  // namespace ronde::launch
