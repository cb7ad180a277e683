#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <sys/types.h>

#include "ronde/base/system/file_descriptor.h"
#include "ronde/tune/journal/recorded_search.h"

namespace ronde::tune {

// A process that runs trials one after the other; `socket` leads to it (worker.h).
struct WorkerProcess {
  pid_t pid = -1;
  FileDescriptor socket;
};

struct RunOptions {
  std::filesystem::path folder;  // of the search; each trial has a folder in it
  int slots = 1;
  std::chrono::nanoseconds trial_timeout{0};  // without a report; 0: none
  std::chrono::nanoseconds time_budget{0};    // of the search; 0: none
  // The batch system's limit: the search ends in time and is to be continued. 0: none.
  std::chrono::nanoseconds deadline{0};
  // What a process in the middle of a trial gets at the end, after its socket has been closed, before it is killed.
  std::chrono::nanoseconds grace{0};
  // Starts a process. Called again for one that has died. REQUIRES: it ends when its socket closes.
  std::function<WorkerProcess(int slot)> start_worker;
  // Criteria of the program's own: whether a trial ends, or, for an empty result, whether the whole search does.
  std::function<bool(const Trial& trial, const Json& result)> stops;
  // Told after events, at most every `show_every`; and once at the end.
  std::function<void(const Search& search, bool is_end)> show;
  std::chrono::nanoseconds show_every = std::chrono::milliseconds(500);
  std::function<void(const std::string& text)> warn;  // of a trial that failed, of a full disk
  // Asked between events: true ends the search, to be continued (a signal has come).
  std::function<bool()> interrupted;
};

enum class RunEnd {
  Finished,    // every trial has ended
  TimeIsOver,  // time_budget: it has ended, and what ran was stopped
  ToContinue,  // deadline or interrupted: trials go on when the search is started again
};

// The folder of a trial, in that of its search.
std::filesystem::path trial_folder(const std::filesystem::path& search, const Trial& trial);

// Runs trials in processes until the search has ended. What a trial does to its process, be it to end, to be killed or
// to be silent for too long, costs that trial an attempt and nobody else anything; the process is replaced.
// FAILS WITH: System when no process can be started or the journal cannot be written.
RunEnd run_search(RecordedSearch& search, const RunOptions& options);

}  // namespace ronde::tune
