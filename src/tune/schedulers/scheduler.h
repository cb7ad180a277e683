#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ronde/tune/space/space.h"

namespace ronde::tune {

// What is to happen to a trial after a result.
struct Decision {
  enum class Kind {
    Continue,
    Pause,    // keep its checkpoint, and give its slot to another trial
    Stop,     // it has ended
    Exploit,  // go on with the weights of `source` and with `config`
  };
  Kind kind = Kind::Continue;
  bool save = false;         // a checkpoint first: others may exploit it
  bool is_complete = false;  // Stop: it has had all the time that there is, and was not too weak
  int source = -1;
  Json config = nullptr;

  friend bool operator==(const Decision&, const Decision&) = default;
};

std::string_view name(Decision::Kind kind);

// A result as schedulers see it. `time` is the value of the scheduler's time attribute (training_iteration by default),
// `score` that of the metric; larger is better, whatever the search's mode.
struct Report {
  int trial = 0;
  double time = 0;
  double score = 0;
  Json config = nullptr;
  bool others_to_come = false;  // trials of the search that have not been made yet, for want of a slot
};

// Decides which trials go on. A state machine without clock, thread or generator state: the same calls in the same
// order give the same decisions, so the journal of a search, replayed, restores it. Trials are numbered from 0.
class Scheduler {
 public:
  virtual ~Scheduler() = default;

  // A trial has been made; it has not run yet. It may change the configuration (PBT draws what it mutates).
  virtual void on_add(int /*trial*/, Json& /*config*/) {}
  // Reports of one trial come in the order of time. A score that is not a number is the worst.
  virtual Decision on_report(const Report& report) = 0;
  // It has ended: by itself, by its stop criteria, or because on_report() said so. `last`: its last report, which
  // on_report() has not seen where the criteria stopped it.
  virtual void on_complete(const Report& /*last*/) {}
  // It has failed for good.
  virtual void on_lost(int /*trial*/) {}
  // What a report or an end decided about other trials, which are paused; asked after each of the calls above.
  virtual std::vector<std::pair<int, Decision>> others() { return {}; }
  // A slot is free: which of these paused trials goes on (ascending numbers). None: a new trial starts, or, if there
  // are no more, the slot stays free. `all_added`: no more trials will be made; `running`: how many run now.
  virtual std::optional<int> resume(std::span<const int> /*paused*/, bool /*all_added*/, int /*running*/) { return {}; }
};

struct SchedulerOptions {
  std::uint64_t seed = 0;
  Json options = Json::object();  // of the scheduler, by Ray Tune's names
  int slots = 1;                  // how many trials run at once
};

// One entry says all there is to know about a scheduler; CMake makes the list.
struct SchedulerEntry {
  std::string_view name;                                   // as tune.scheduler has it
  std::vector<std::string_view> aliases = {};              // Ray Tune's other names
  std::string_view help;                                   // one sentence
  std::vector<std::string_view> options = {};              // that it reads
  std::string_view time_attribute = "training_iteration";  // by default
  bool needs_checkpoints = false;                          // trials are paused, or take over weights
  std::unique_ptr<Scheduler> (*make)(const SchedulerOptions&) = nullptr;
};

// All of them, in the order of CMakeLists.txt. Made anew by each call.
std::vector<SchedulerEntry> scheduler_entries();

// FAILS WITH: BadInput for a name that no scheduler has, with those that there are.
SchedulerEntry find_scheduler(std::string_view name);

// FAILS WITH: BadInput for an option that this scheduler does not read.
std::unique_ptr<Scheduler> make_scheduler(const SchedulerEntry& entry, const SchedulerOptions& options);

// --- What entries are made of
// ------------------------------------------------------------------------------------------

// A number among the options. FAILS WITH: BadInput for one that is no number, or below `least`.
double number_option(const Json& options, const char* name, double missing, double least);

// As numpy.percentile has it by default: linear between neighbours, what is not a number left out. 0 <= percent <= 100.
// Nothing when there are no values.
std::optional<double> percentile(std::vector<double> values, double percent);

}  // namespace ronde::tune
