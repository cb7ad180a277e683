#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ronde/base/system/hardware.h"
#include "ronde/train/options.h"
#include "ronde/train/session/dry_run.h"

// What a training can reach on a machine: how much memory it takes, and what would stop it from being faster. The
// functions on Work, MachineRates and DryRun are pure.
namespace ronde {
class Settings;
}

namespace ronde::train {

// How a job is spread.
struct Spread {
  int ranks = 1;              // on one machine
  double network_gbit_s = 0;  // of a rank, where gradients leave the machine; 0: they do not
  std::uint64_t memory = 0;   // of the machine's processors, or of a GPU; 0: as its rates say
};

// What one rank has to do for one step; bytes and operations.
struct Work {
  std::int64_t batch = 1;  // samples of this rank
  std::string precision = "f32";
  bool tf32 = false;     // f32 products may run in it
  double flops = 0;      // forward and backward, and forward again where that is recomputed
  double touched = 0;    // memory read and written
  double stored = 0;     // read from files
  double input = 0;      // given to the device
  double exchanged = 0;  // gradients that meet those of other ranks
};
// `gpu`: it computes, and pictures travel to it as data.on_device says.
Work work_of(const DryRun& known, const TrainingOptions& options, int ranks, double stored_per_sample,
             bool gpu = false);

// A rank's share of what its machine does a second. Processors, disks and memory are shared by its ranks; a GPU is one
// rank's own.
struct SpeedLimit {
  std::string what;          // "compute"
  double samples_per_s = 0;  // of one rank
  std::string by;            // what it was computed from: "2.1 GFLOP a sample at 67 TFLOP/s"
};
// Those that are known, in a fixed order. A rate of zero says nothing, and work that is not there limits nothing.
std::vector<SpeedLimit> speed_limits(const Work& work, const MachineRates& machine, const Spread& spread);

// The lowest; null when nothing is known.
const SpeedLimit* binding(const std::vector<SpeedLimit>& limits);
// "memory bandwidth binds: at most 1,234 samples/s per rank, 4,936 on 4 ranks".
std::string verdict(const std::vector<SpeedLimit>& limits, int ranks);

struct MemoryNeed {
  double activations = 0;  // of one pass
  double peak = 0;         // of tensors
  double ahead = 0;        // batches that wait to be trained on, in the host's memory
  double checkpoint = 0;   // the copy that is written while training goes on, in the host's memory; of rank 0
  double program = 0;
  double rank = 0;                 // all of it that counts against the device's memory
  double available = 0;            // to one rank; 0: not known
  std::int64_t largest_batch = 0;  // of all ranks; 0: not even one sample a rank; only where the above is known
};
MemoryNeed memory_need(const DryRun& known, const TrainingOptions& options, const MachineRates& machine,
                       const Spread& spread);

// A training as it is asked for, and with model.recompute the other way round, where the network can.
struct Limits {
  struct Variant {
    bool recompute = false;
    DryRun known = {};
    MemoryNeed memory = {};
    std::vector<SpeedLimit> speeds = {};
  };
  std::string model = {};
  std::int64_t batch = 0;  // of all ranks
  Spread spread = {};
  MachineRates machine = {};
  Variant asked = {};
  std::optional<Variant> other = {};
};

// Makes a dry run of the training and works out what it can reach. FAILS WITH: as dry_run(); BadInput for more ranks
// than samples a batch.
Limits find_limits(const Settings& settings, const MachineRates& machine, const Spread& spread);

}  // namespace ronde::train
