#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "ronde/base/settings/environment.h"
#include "ronde/base/system/clock.h"
#include "ronde/base/system/mutex.h"
#include "ronde/comm/mpi/launcher_check.h"
#include "ronde/comm/mpi/plugin.h"

namespace ronde::comm::detail {

// MPI as this process has it. It can be started once a process and never again, so this lives to its end. If we have
// started it, we end it: at the exit of the process, when all ranks have come there, however long that takes; who has
// failed or has lost a rank must not wait.
class MpiOwner {
 public:
  // Loads the plugin that fits, starts MPI unless the program has, and opens our communicator; the next time it gives
  // the same. FAILS WITH: BadInput when launcher and library do not belong together, or threads are too few; Timeout
  // when not all ranks have come to make the communicator; System. MPI_Init cannot be left: when it takes too long, the
  // process says so and ends with code 1.
  static MpiOwner& get(const Environment& environment, const Deadline& until = {});
  // Is an MPI library in this process that the program has initialised?
  static bool program_has_started();

  const RondeMpi& mpi() const { return *table_; }
  int rank() const { return rank_; }
  int size() const { return size_; }
  int largest_tag() const { return largest_tag_; }
  const std::string& version() const { return version_; }
  // FAILS WITH: System, in MPI's words, unless the code is 0.
  void check(int code, const std::string& what) const;

  // As ProcessEnd's. Any thread.
  int before_end(std::vector<int> pids, std::function<void()> leave);
  void forget(int number);
  void note_loss() { lost_ = true; }

  MpiOwner(const MpiOwner&) = delete;
  MpiOwner& operator=(const MpiOwner&) = delete;

 private:
  MpiOwner(const Environment& environment, const Deadline& until);
  void start(const Environment& environment, const Deadline& until);
  void open(const Deadline& until);
  static void end(int status, void* process);
  void leave_all();
  bool a_rank_has_ended();
  int wait_for_all(bool failed);

  const RondeMpi* table_ = nullptr;
  std::string version_, library_;
  int rank_ = 0, size_ = 1, largest_tag_ = 0;
  bool started_by_us_ = false;

  Mutex mutex_;
  Condition left_;
  std::map<int, std::function<void()>> to_leave_ RONDE_GUARDED_BY(mutex_);
  std::vector<int> pids_ RONDE_GUARDED_BY(mutex_);
  int next_number_ RONDE_GUARDED_BY(mutex_) = 0;
  int leaving_ RONDE_GUARDED_BY(mutex_) = -1;             // which of them does; -1: none
  std::thread::id leaver_ RONDE_GUARDED_BY(mutex_) = {};  // the thread that lets them
  std::atomic<bool> lost_ = false;
};

}  // namespace ronde::comm::detail
