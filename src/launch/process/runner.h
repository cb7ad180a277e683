#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>

#include "ronde/comm/socket_bootstrap.h"
#include "ronde/launch/output/output.h"
#include "ronde/launch/process/escalation.h"
#include "ronde/launch/process/signals.h"
#include "ronde/launch/run/job.h"
#include "ronde/launch/run/outcome.h"

namespace ronde::launch::detail {

// The launcher's loop: starts the ranks, then waits for signals, ends of ranks and output, and does what Escalation and
// Verdict decide. Runs inside guarded(), which kills what is left.
class Runner {
 public:
  struct Start {
    std::string program;  // where job.command.front() lies
    std::string id;       // of the job, the same in all attempts
    int attempt = 1;
    int lifeline = -1;  // see guarded()
  };
  Runner(const Job& job, Start start);

  // To be called once. Returns the exit code.
  int run();

 private:
  using Time = std::chrono::steady_clock::time_point;

  void start_ranks();
  void start_rank(const topology::RankBinding& binding, int master_port, int in);
  void watch_once(std::optional<Time> until);
  bool finished() const;
  std::optional<Time> next_time() const;
  void take_signals();
  void reap(pid_t first);
  void rank_ended(int rank, const Outcome& outcome);
  void send(std::optional<int> signal) const;
  void lost_guardian();
  void print_rest();

  const Job& job_;
  Start start_;
  Signals signals_;
  comm::SocketBootstrapServer server_;  // after signals_: its thread must not get any
  Output output_;
  Escalation escalation_;
  Verdict verdict_;
  std::map<pid_t, int> running_;       // rank by process
  std::optional<Time> last_end_ = {};  // when the last rank ended
  bool guardian_lost_ = false;
  bool told_to_stop_ = false;  // by a signal
};

}  // namespace ronde::launch::detail
