#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "ronde/base/system/clock.h"
#include "ronde/base/system/file_descriptor.h"
#include "ronde/bench/detail/command.h"

namespace ronde::bench::detail {

// What takes part in a race: a job under `ronde run`, so that none of its processes outlives the benchmark.
struct Entrant {
  std::string name;                        // as messages and columns call it
  std::vector<std::string> command;        // a program and its arguments
  int ranks = 1;                           // that `ronde run` starts; a peer with a launcher of its own is one
  std::vector<std::string> settings = {};  // flags for `ronde run`
  std::string missing = {};                // why it need not even be tried; empty: it should be
};

// A job that times what it is asked to and sleeps in between. It talks in lines: first "ready", and then an answer a
// command. "missing REASON" instead of "ready" means that it cannot take part. A job that cannot keep still names its
// processes after "ready": they are stopped while it is not its turn.
class Contestant {
 public:
  // Starts it. FAILS WITH: System.
  explicit Contestant(const Entrant& entrant);
  // Ends it: its input ends, and if that does not help, it is told to stop.
  ~Contestant();
  Contestant(const Contestant&) = delete;
  Contestant& operator=(const Contestant&) = delete;

  const std::string& name() const { return name_; }

  // FAILS WITH: System, saying why it cannot take part; Timeout.
  void wait_until_ready(Deadline until);

  // Nothing when it cannot do what is asked.
  // FAILS WITH: System when it has ended, with its last words; Timeout.
  std::optional<Timing> time(const Command& command);
  // Microseconds, or whatever number the command asks for.
  std::optional<double> ask(const Command& command);

 private:
  void send_line(const std::string& line);
  std::string read_line(Deadline until);
  std::string last_words() const;
  void signal_parked(int signal) const;
  bool has_ended_within(std::chrono::milliseconds time);

  std::string name_;
  FileDescriptor in_, out_, errors_;  // of the job, our ends
  std::string read_;                  // from out_, beyond the last line
  std::vector<pid_t> parked_;         // its processes, if it wants them stopped
  pid_t process_ = -1;                // of `ronde run`
};

// Where the program `ronde` lies: beside the running one.
std::string ronde_program();

}  // namespace ronde::bench::detail
