#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ronde/base/system/hardware.h"
#include "ronde/trace/file/run.h"

namespace ronde::report {

// One step of the network's forward pass, as the training counted it (models/costs.h), over one rank's share of a
// batch.
struct LayerFacts {
  std::string name = {};
  std::string operation = {};
  double flops = 0;  // forward; backward takes twice as many
  double bytes = 0;  // read and written, forward
  double parameters = 0;
};

// A rank's work ended by an error.
struct Failure {
  std::string text = {};  // one sentence
  double seconds = 0;     // from the run's first event to the last of this rank
};

// What training wrote into the trace besides times: metadata "job" and "layers" of rank 0, "machine rates" of the first
// rank of each node and "rank facts" of each, JSON texts.
// Everything may be missing.
struct JobFacts {
  std::string recipe = {}, network = {}, data = {}, precision = {}, optimizer = {}, device = {}, processor = {};
  std::int64_t batch = 0;    // of all ranks
  std::int64_t samples = 0;  // of an epoch
  std::int64_t parameters = 0;
  int threads = 0;                                   // of a rank, for compute
  int cores = 0;                                     // of a node
  int nodes = 0;                                     // hosts that ranks name
  double memory_bytes = 0, memory_limit_bytes = 0;   // most that a rank used, and what it may use, of its device where
                                                     // there is one; 0: not known
  std::map<std::string, std::string> settings = {};  // those that are not the default's, "comm.fusion_bytes": "64MiB"
  std::vector<LayerFacts> layers = {};
  std::map<int, std::string> bound = {};   // by rank: the cpus it is bound to, "0-3"; "" : not bound
  std::map<int, double> clock_ghz = {};    // by rank: what its core did when measured
  std::optional<MachineRates> rates = {};  // of a node or a GPU, as measured before the run (the lowest rank's)
  std::optional<Failure> failure = {};     // the first cause, as far as ranks tell
  std::vector<int> cut_off = {};           // ranks whose recording breaks off
};

// What a setting was; nothing where it had its default.
std::optional<std::string> setting(const JobFacts& facts, const std::string& key);
bool is_off(const JobFacts& facts, const std::string& key);  // set to false
bool is_on(const JobFacts& facts, const std::string& key);   // set to true

// Text that is no such JSON leaves a sentence in `problems` and counts as missing.
JobFacts facts_of(const trace::Run& run, std::vector<std::string>& problems);

}  // namespace ronde::report
