#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

// Traces of runs that never were, as large as one likes and with every time known: for benchmarks, and for tests of
// what is found in them.
namespace ronde::report::testing {

// What every rank does in a step. Times are nanoseconds.
struct StepShape {
  std::int64_t input = 100'000;  // waiting for the next batch
  std::int64_t forward = 20'000'000, backward = 40'000'000, optimizer = 2'000'000;
  // Modules of the network, each with an operator, in forward and in backward; 0: none are recorded. 58 make about
  // 16 KB a step and rank.
  int layers = 58;
  int buckets = 8;  // gradients are ready evenly over backward
  std::uint64_t bucket_bytes = 4 << 20;
  std::int64_t agree = 20'000;    // from the last rank's arrival to the beginning of a bucket's exchange
  std::int64_t move = 3'000'000;  // of a bucket, from there
  std::int64_t peers = 300'000;   // of which a rank waits for its peers
  std::int64_t kernels = 0;       // a device computes from the beginning of forward on; 0: there is none
  std::int64_t device_waits = 0;  // and then in a collective, recorded in a graph
};

// What goes wrong, if anything.
struct Faults {
  int slow_rank = -1;  // computes longer by
  double slowness = 1.3;
  std::int64_t input = 0;   // every batch comes later by so much
  std::int64_t link = 0;    // every exchange takes longer by so much
  double first_bucket = 0;  // the share of backward that passes before the first gradients are handed over
  int evaluate_every = 0;   // steps after which rank 0 tests alone, for
  std::int64_t evaluate = 500'000'000;
  // What disturbs any run. Other seeds draw other steps and lengths.
  std::uint64_t seed = 0;
  double jitter = 0;     // share of its length by which computing varies, from step to step and rank to rank
  double preempted = 0;  // share of steps in which another program takes a rank's core, for
  std::int64_t preemption = 30'000'000;
};

struct GenerateOptions {
  std::filesystem::path folder = {};  // gets a file a rank
  int ranks = 4;
  int ranks_per_host = 8;
  std::int64_t steps = 10;
  StepShape shape = {};
  Faults faults = {};
  // Clocks of hosts other than the first differ by this much more each, and run fast by this much; the differences are
  // measured, as comm does it.
  std::int64_t clock_offset = 5'000'000;
  double clock_drift = 20e-6;
  std::vector<std::pair<std::string, std::string>> metadata = {};  // of each rank
};

struct Generated {
  std::uint64_t bytes = 0;    // of all files
  std::int64_t begin = 0;     // of the first step, in nanoseconds since 1970, by the clock of rank 0
  std::int64_t duration = 0;  // of all steps, to the last rank's end
};

// FAILS WITH: BadInput (fewer than one rank or step, lengths below 0), System (a file cannot be written).
Generated generate(const GenerateOptions& options);

}  // namespace ronde::report::testing
