#pragma once

#include <optional>
#include <span>
#include <string>

#include "ronde/base/text/terminal.h"

// How ranks ended, and what that means for the job. All pure.
namespace ronde::launch {

// The exit code of a rank that stopped in time, with a checkpoint: a peaceful end, and the job is to be started again.
inline constexpr int kToBeContinued = 75;

// How one process ended.
struct Outcome {
  int code = 0;
  int signal = 0;  // that ended it; 0: none did

  static Outcome from_status(int status);  // as waitpid(2) gives it
  bool to_be_continued() const { return code == kToBeContinued && signal == 0; }
  bool failed() const { return (code != 0 || signal != 0) && !to_be_continued(); }
  int exit_code() const { return signal != 0 ? 128 + signal : code; }  // as shells have it
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

std::string name_of_signal(int signal);        // "signal 9 (killed)"
std::string describe(const Outcome& outcome);  // "exit code 7" or "signal 9 (killed)"

// What is to be said and returned at the end of a job: the first failure counts, unless the launcher had already been
// told to stop. A job whose ranks have ended well, some of them to be continued, is to be continued, whether or not the
// launcher was told to stop.
class Verdict {
 public:
  struct Failure {
    int rank = 0;
    Outcome outcome;
  };

  // In the order in which these happen.
  void rank_ended(int rank, const Outcome& outcome);
  void interrupted(int signal);

  const std::optional<Failure>& first_failure() const { return failure_; }
  int exit_code() const;

  // The last words of the launcher; nothing after a job that went well. `tail`: the failed rank's last lines.
  std::string last_words(const std::string& host, std::span<const std::string> tail, const Paint& paint) const;

 private:
  std::optional<Failure> failure_;
  std::optional<int> interrupt_;
  bool continued_ = false;  // a rank is to be continued
  bool broken_ = false;     // a rank has failed, whenever that was
};

}  // namespace ronde::launch
