#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ronde/tune/samplers/sampler.h"
#include "ronde/tune/schedulers/scheduler.h"
#include "ronde/tune/trial.h"

namespace ronde::tune {

struct SearchOptions {
  Json space = Json::object();
  std::string metric;        // empty: nothing is compared, and nothing learns
  std::string mode = "max";  // or min
  std::uint64_t seed = 0;
  int samples = 1;  // trials per point of the grids; -1: until somebody stops the search
  int slots = 1;    // trials that run at once
  std::string sampler = "random";
  Json sampler_options = Json::object();
  std::string scheduler = "fifo";
  Json scheduler_options = Json::object();
  std::string time_attribute;             // empty: the scheduler's own
  Json stop = Json::object();             // by name of a result: the trial ends when it is reached
  std::vector<Json> points = {};          // configurations to try first; what they leave out is drawn
  bool constant_grid = false;             // random values are drawn once for all points of the grids
  int max_failures = 0;                   // a trial is started again so often; -1: always
  bool can_save = true;                   // trials have checkpoints; without, none is paused and none exploits
  std::vector<std::string> command = {};  // that each trial runs; empty: the program knows what a trial is
};

// As a table for a journal, and back. FAILS WITH: BadInput for values that no option can have.
Json to_json(const SearchOptions& options);
SearchOptions search_options(const Json& json);

// How many trials are in each state.
struct TrialCounts {
  int running = 0, paused = 0, pending = 0;  // pending: to be tried again
  int terminated = 0, failed = 0;
  int stopped_early = 0;  // of those that have terminated

  int done() const { return terminated + failed; }
  friend bool operator==(const TrialCounts&, const TrialCounts&) = default;
};

// What a search knows and decides. A state machine: the same calls in the same order have the same results, so that a
// journal, replayed, restores it. It starts nothing, waits for nothing and reads no clock.
// One thread at a time.
class Search {
 public:
  // Computes values that the program computes itself (Space::Compute).
  // FAILS WITH: BadInput for options that do not go together.
  explicit Search(SearchOptions options, Space::Compute compute = {});
  ~Search();
  Search(Search&&) noexcept;

  struct Next {
    enum class Kind {
      Start,     // `trial` is new, or is to be tried again
      Resume,    // `trial` was paused
      Wait,      // nothing now, perhaps after a report
      Finished,  // no trial runs or will run
    };
    Kind kind = Kind::Wait;
    int trial = -1;
  };

  // A slot is free. `config`: of a replayed trial, what it was; otherwise it is drawn.
  Next next(const Json* config = nullptr);

  // A result of a running trial with what is filled in: trial_id, training_iteration, the times. Changes nothing.
  Json filled_in(int trial, Json result, double seconds_since_start) const;
  // It has come. `result` is filled in, and gets "done".
  // Whether the trial is to end, pause or go on elsewhere.
  Decision report(int trial, Json& result, double seconds_since_start);
  // What a report or an end decided about other trials, which do not run: they have been stopped, or go on changed.
  struct Change {
    int trial;
    Decision decision;
  };
  std::vector<Change> changes();

  // It has saved a checkpoint, which the program knows by this name.
  void saved(int trial, std::string checkpoint);
  // It has paused, as a decision wanted; its checkpoint has been saved.
  void paused(int trial);
  // It ended by itself, or as a decision wanted.
  void ended(int trial);
  // It failed. True: it will be started again, from its checkpoint if it has one.
  bool failed(int trial, const std::string& error);
  // It does not run any more, since its job has ended; it will be started again, from its checkpoint if it has one.
  void interrupted(int trial);

  // More samples than before, or fewer: a search that goes on in another job may be longer.
  void set_limits(int samples, int max_failures);

  const SearchOptions& options() const;
  const Space& space() const;
  const std::vector<Trial>& trials() const;
  const TrialCounts& counts() const;
  const Observations& observations() const;  // of trials, by number
  // The one with the best last score; nothing before the first report.
  std::optional<int> best() const;
  // How many trials there will be; nothing: no end is known.
  std::optional<std::size_t> planned() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ronde::tune
