#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ronde/base/log.h"
#include "ronde/comm/tune/autotune.h"

namespace ronde::comm::detail {

struct TunerOptions {
  Tuning defaults = {};
  std::vector<std::string> algorithms = {};  // that the link has, its own choice first
  int ranks = 1;
  int nodes = 1;
  std::string file = {};  // empty: nothing is kept
  Log log = Log();
};

// Searches for the best tuning while the program trains, on member 0: takes the time of steps, tells the user, and
// keeps what it finds in a file. A run of the same shape starts with that and searches no more. Steps that reduce
// another number of bytes, such as those of a validation, have a search of their own.
class Tuner {
 public:
  explicit Tuner(TunerOptions options);
  ~Tuner();  // says so, if the search had not come to an end
  Tuner(const Tuner&) = delete;
  Tuner& operator=(const Tuner&) = delete;

  // All buckets of a step of so many bytes have been agreed on, now. What all members are to use from the next step on,
  // if that changes.
  std::optional<Tuning> step(std::chrono::nanoseconds now, std::size_t step_bytes);
  // Something else came in between: the step that is under way does not count.
  void interrupted() { last_.reset(); }

 private:
  // What is known of steps of so many bytes.
  struct Kind {
    std::optional<Autotune> search = {};  // nothing: there is none, or no more
    Tuning tuning = {};                   // then this is to be used
  };
  Kind begin(std::size_t step_bytes);
  void advance(Kind& kind, double us);
  std::optional<Tuning> from_file(std::size_t step_bytes);
  void finish(const Autotune& search);
  std::string text(const Tuning& tuning) const;

  const TunerOptions options_;
  std::map<std::size_t, Kind> kinds_;             // by bytes of a step
  bool full_ = false;                             // there are more of them than are kept, and that has been said
  std::size_t step_bytes_ = 0;                    // of the last one
  Tuning used_;                                   // at present, by all members
  std::optional<std::chrono::nanoseconds> last_;  // when the last step ended
};

}  // namespace ronde::comm::detail
