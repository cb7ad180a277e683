#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ronde/report/run/job_facts.h"
#include "ronde/report/run/window.h"
#include "ronde/trace/file/run.h"

// Which step of the input pipeline is the slowest, and what a free input would give. Pure.
namespace ronde::report {

// A step of the pipeline, all its threads and all ranks together. Seconds of threads.
struct InputStage {
  std::string name = {};
  double busy = 0;           // at work
  double waiting_input = 0;  // for what comes before
  double waiting_room = 0;   // for what comes after, or for memory
  // What all ranks' threads would finish if they never waited. 0: not known.
  double items_per_second = 0;
  double item_bytes = 0;  // mean size of what it hands on; 0: not known
  int threads = 1;        // of a rank
  // Share of the time in which something of it was ready to be taken. None: not recorded.
  std::optional<double> occupancy = {};

  double busy_share() const;  // of its threads' time
};

// The steps in the order of the pipeline: from what each rank says of its own at its end (metadata "input stages"); a
// rank that says nothing (it was cut off) counts with the spans of its rows "input STAGE". Occupancies are those of
// counters "STAGE ready". Text that is no such JSON leaves a sentence in `problems`.
std::vector<InputStage> input_stages_of(const trace::Run& run, const Window& window,
                                        std::vector<std::string>& problems);

// The stage that the others wait for, as training says it at its end: the one that is busiest, if it is busy for half
// of its time. Where nothing is known of times, the one after which nothing is ready while there is something to take
// before it. Empty: none, whoever takes the batches is slower than all of them.
std::string limiting_stage(const std::vector<InputStage>& stages);

struct InputLimit {
  std::string limit = {};                 // a stage's name; empty: training hardly waits, or no stage is the cause
  std::string text = {};                  // one sentence
  double waiting_share = 0;               // of training threads' time
  double samples_per_second = 0;          // 0: not known
  double ceiling_samples_per_second = 0;  // with an input that costs nothing; 0: not known
  std::vector<InputStage> stages = {};

  const InputStage* limiting() const;  // null: none
};

// `no_input_seconds`: the window's length when replayed without waits for input (Efficiency::no_input_seconds).
// None: the run has recorded nothing of any input.
std::optional<InputLimit> input_limit_of(const trace::Run& run, const Window& window, const JobFacts& facts,
                                         double no_input_seconds, std::vector<std::string>& problems);

}  // namespace ronde::report
