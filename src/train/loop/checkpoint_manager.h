#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "ronde/base/log.h"
#include "ronde/data/order/batch_plan.h"
#include "ronde/models/network.h"
#include "ronde/train/checkpoint/checkpoint_writer.h"
#include "ronde/train/loop/resume_rules.h"
#include "ronde/train/optim/weight_average.h"
#include "ronde/train/session.h"

namespace ronde::train {

// checkpoint.every: after so many steps, or after so much time, or as often as it pays; none: only at the end. Pure.
struct Every {
  std::int64_t steps = 0;
  std::chrono::nanoseconds time{0};
  bool automatic = false;
  friend bool operator==(const Every&, const Every&) = default;
};
// "500", "10min", "auto", "0". FAILS WITH: BadInput.
Every parse_every(std::string_view text);

// Where a training stands.
struct TrainingState {
  std::int64_t step = 0;
  data::Position position = {};
  std::map<std::string, std::string> extra = {};  // what else a training needs to go on; no line breaks
};

// Keeps checkpoints of a training in output_folder()/checkpoints, the best in output_folder()/best, and finds the one
// to go on from. Every rank has one and calls the same; rank 0 writes, or each rank its share.
class CheckpointManager {
 public:
  // `found`: what the settings have come to, such as "classes" -> "10", for TrainingFacts. FAILS WITH: BadInput.
  CheckpointManager(const Session& session, Log log, std::map<std::string, std::string> found = {});
  ~CheckpointManager();

  // Puts what checkpoint.resume names into network and optimizer, the same on all ranks. Nothing: training starts anew.
  // FAILS WITH: BadInput for one of another training (see resume_rules.h), unless checkpoint.accept_differences says
  // otherwise, and for one of another network, saying which tensors differ; System.
  // A moving average that the checkpoint does not have begins with its weights.
  std::optional<TrainingState> resume(models::Network& network, torch::optim::Optimizer& optimizer,
                                      WeightAverage* average = nullptr);

  // Whether this rank finds that it is time for one; ranks may differ in that, and agree before they call keep().
  bool due(std::int64_t step);
  // An error while it is written is a warning, and training goes on.
  void keep(const TrainingState& state, const models::Network& network, const torch::optim::Optimizer& optimizer,
            const WeightAverage* average = nullptr);
  // The same in the folder best, in place of the one that is there, for checkpoint.best. All ranks call it.
  void keep_best(const TrainingState& state, const models::Network& network, const torch::optim::Optimizer& optimizer,
                 const WeightAverage* average = nullptr);
  void finish();  // waits until the last one is written

  bool sharded() const { return sharded_; }
  bool goes_by_time() const { return every_.steps == 0; }
  std::filesystem::path best() const;    // as it is in the folder; empty: none
  std::filesystem::path newest() const;  // that this training has written, or started from; empty: none
  // How long the next one will take until it is safely written: as long as the last, or a guess; for a rank that
  // writes.
  std::chrono::nanoseconds expected_time(const models::Network& network) const;

 private:
  std::string find(models::Network& network, torch::optim::Optimizer& optimizer, WeightAverage* average,
                   TrainingState& state);
  std::string objection_to(const std::filesystem::path& path) const;
  TrainingFacts facts() const;
  void load(const std::filesystem::path& path, models::Network& network, torch::optim::Optimizer& optimizer,
            WeightAverage* average, TrainingState& state);
  std::optional<std::filesystem::path> chosen() const;
  void put_aside(std::int64_t last_step) const;  // checkpoints of later steps
  void put_aside(const std::filesystem::path& folder, std::int64_t last_step) const;
  std::optional<Checkpoint> checkpoint_of(const TrainingState& state, const models::Network& network,
                                          const torch::optim::Optimizer& optimizer, const WeightAverage* average) const;
  void warn_about_errors(CheckpointWriter& writer);
  void warn_about_grace();
  void learn_cost();

  const Session& session_;
  const Log log_;
  const Every every_;
  const bool sharded_;
  const std::filesystem::path folder_, best_folder_;
  const std::map<std::string, std::string> found_;
  std::unique_ptr<CheckpointWriter> writer_;       // of ranks that write
  std::unique_ptr<CheckpointWriter> best_writer_;  // the same; none without checkpoint.best
  std::filesystem::path started_from_;
  std::int64_t kept_step_ = -1;
  std::map<std::string, std::string> kept_extra_;
  std::chrono::nanoseconds kept_at_;
  std::chrono::nanoseconds interval_, said_{0};  // checkpoint.every = auto: as it is now, and as it was told
  std::optional<CheckpointCost> cost_;
  bool grace_warned_ = false;
};

// The checkpoint at a path: the folder of one, the newest of a training in its output folder, or that of the only
// training in a folder of such folders (ronde-output).
// FAILS WITH: BadInput when there is none, or several trainings, which it names.
std::filesystem::path find_checkpoint(const std::filesystem::path& path);

}  // namespace ronde::train
