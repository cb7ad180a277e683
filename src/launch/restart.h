#pragma once

#include <chrono>
#include <string>
#include <vector>

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
  bool interrupted = false;      // a signal told the launcher to stop
  std::string failed_host = {};  // where the first failure was; empty: not known, or there is only one machine
  bool host_lost = false;        // not a rank alone: that machine does not answer any more
};

struct HostSlots {
  std::string host;
  int slots = 1;  // ranks that it can take
};

struct RestartDecision {
  bool again = false;
  std::vector<HostSlots> hosts = {};  // where; those that it was given, or all but the one that failed
  int ranks = 0;
  std::chrono::nanoseconds delay{0};
  std::string sentence = {};  // for the user; empty: nothing to be said
};

// `attempt`: 1 after the first start. `ranks`: of this attempt; `hosts` what it could use, spare ones too.
//
// Not started again: what went well, what a signal has stopped, what ended with exit code 2 (wrong input: it would be
// wrong again) or 75 (a deadline: to be continued in the next allocation). The machine that failed is left out when the
// others have room for min_ranks; otherwise it is tried again, unless it is lost.
RestartDecision decide_restart(const RestartRules& rules, int attempt, const JobEnd& end, int ranks,
                               const std::vector<HostSlots>& hosts);

}  // namespace ronde::launch
