#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <set>
#include <string>

#include "ronde/launch/cluster/remote_job.h"
#include "ronde/launch/output/frames.h"
#include "ronde/launch/output/output.h"
#include "ronde/launch/process/escalation.h"
#include "ronde/launch/process/signals.h"
#include "ronde/launch/run/outcome.h"

namespace ronde::launch::detail {

// The loop around another launcher: Runner's, for one process that speaks for many ranks. Runs inside guarded().
class RemoteRunner {
 public:
  RemoteRunner(const RemoteJob& job, std::string program, int lifeline);

  // To be called once. Returns the exit code.
  int run();
  const std::string& failed_host() const { return failed_host_; }  // empty: no rank has failed
  std::vector<std::string> lost_hosts() const;                     // by their names in the job

 private:
  using Time = std::chrono::steady_clock::time_point;

  // One of the launcher's own streams; both may have frames.
  struct Source {
    FileDescriptor pipe;
    FrameReader frames;
  };

  void start();
  void watch_once(std::optional<Time> until);
  bool finished() const;
  std::optional<Time> next_time() const;
  void take_from(Source& source);
  void take_signals();
  void rank_ended(const RankEnd& end);
  void launcher_said(std::string_view line);
  void send(std::optional<int> signal);
  void end_launcher();
  void lost_guardian();
  std::string last_words() const;
  int exit_code() const;
  void print_rest();

  const RemoteJob& job_;
  std::string program_;
  int lifeline_;
  Signals signals_;
  Output output_;
  Escalation escalation_;
  Verdict verdict_;
  Source out_, err_;
  pid_t pid_ = 0;
  std::optional<Outcome> ended_ = {};  // the launcher
  Time end_time_{};
  std::string failed_host_;
  std::set<int> ended_ranks_ = {};
  std::optional<Time> kill_time_ = {};  // when the launcher is killed, once it has been told to end
  bool guardian_lost_ = false;
  bool told_to_stop_ = false;
};

}  // namespace ronde::launch::detail
