#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ronde/data/pipeline/stage_stats.h"
#include "ronde/models/costs.h"
#include "ronde/train/loop/arithmetic.h"
#include "ronde/train/loop/training_task.h"
#include "ronde/train/session.h"

// What a trace tells besides times, for `ronde report`: metadata of a recorder, JSON texts. Nothing here is done
// without a recorder.
namespace ronde {
class Settings;
}

namespace ronde::train {

// "job" (rank 0): what is trained, on what. Numbers that are 0 are not known, and left out.
struct TracedJob {
  HardwareFacts hardware = {};
  std::int64_t parameters = 0;
  std::int64_t samples = 0;  // of an epoch
  int threads = 0;           // of a rank, for compute
  int cores = 0;             // of a node
};
std::string job_text(const Settings& settings, const TracedJob& job);  // pure

// "layers" (rank 0): the steps of a forward pass. Pure.
std::string layers_text(std::span<const models::LayerCost> layers);

// "rank facts" (each rank).
struct RankFacts {
  std::string bound = {};  // the cpus that its threads may use, "0-3"; empty: any of the node
  int local_rank = 0;
  std::uint64_t memory_limit_bytes = 0;   // this rank's share
  double clock_ghz = 0;                   // of the core that it trains on
  std::uint64_t device_memory_bytes = 0;  // of its GPU; 0: it has none
};
std::string rank_text(const RankFacts& facts);  // pure

// "input stages" (each rank): what the steps of its input did, and {"skipped": n} as the last. Pure.
std::string stages_text(const std::vector<data::StageStats>& stages, std::int64_t skipped);

// Writes the first three. Takes as long as a pass over one sample, and a millisecond or two.
void trace_job(const Session& session, const Task& task);
// Writes the last.
void trace_input(const Session& session, const std::vector<data::StageStats>& stages, std::int64_t skipped);

// The counter "core clock" of a training thread: what its core does, now and then, so that one that grows hot is seen.
class TracedClock {
 public:
  // After a step. Measures for a tenth of a millisecond, once in a second at most.
  void step(const trace::Recorder* recorder);

 private:
  std::chrono::nanoseconds measured_at_{0};
};

// The counter "device memory in use" of a training thread, where a GPU trains: of all who use that GPU, as the limit
// is.
class TracedMemory {
 public:
  explicit TracedMemory(torch::Device device) : device_(device) {}
  // After a step. Asks in the first few, and then once in a second at most.
  void step(const trace::Recorder* recorder);

 private:
  const torch::Device device_;
  int steps_ = 0;
  std::chrono::nanoseconds asked_at_{0};
};

}  // namespace ronde::train
