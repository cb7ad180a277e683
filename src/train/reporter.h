#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "ronde/base/log.h"
#include "ronde/train/loss_scaler.h"
#include "ronde/train/metrics_log.h"
#include "ronde/train/progress.h"
#include "ronde/train/session.h"
#include "ronde/train/tensorboard.h"
#include "ronde/train/totals.h"

namespace ronde::train {

// Tells people and files how a training goes: progress on standard output, log.jsonl and TensorBoard files in
// output.dir. Every rank has one; that of rank 0 speaks.
class Reporter {
 public:
  Reporter(const Session& session, Log log);
  ~Reporter();

  // Before the first step. `done`: steps that an earlier run has made, if this one goes on from there.
  // FAILS WITH: System when output.dir cannot be written.
  void begin(std::optional<std::int64_t> done, std::int64_t epoch, std::int64_t steps_per_epoch);
  void step(std::int64_t number, const Totals& totals, double learning_rate);
  void scaling(const LossScaler& scaler) { scaler_ = scaler; }  // as it is now; f16 only
  void epoch(std::int64_t epoch, std::int64_t step, const Score& held_out);
  void end(bool interrupted, const std::filesystem::path& checkpoints);

 private:
  struct Files;

  void show_progress();
  void write_step(std::int64_t number, double learning_rate);

  const Session& session_;
  const Log log_;
  std::unique_ptr<Files> files_;  // of rank 0
  std::optional<Progress> progress_;
  Pace pace_;
  Milestone start_, epoch_start_, now_;
  std::int64_t epoch_ = 0, steps_per_epoch_ = 1, first_step_ = 0, steps_ = 0;
  Score epoch_score_, last_score_;
  std::optional<Score> held_out_;
  std::optional<std::chrono::nanoseconds> to_target_;
  std::chrono::nanoseconds written_at_{0};
  Score since_written_;
  std::optional<LossScaler> scaler_;
};

}  // namespace ronde::train
