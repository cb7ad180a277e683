#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ronde/base/log.h"
#include "ronde/data/pipeline/stage_stats.h"
#include "ronde/train/logging/metrics_log.h"
#include "ronde/train/logging/progress.h"
#include "ronde/train/logging/tensorboard.h"
#include "ronde/train/loop/totals.h"
#include "ronde/train/precision/loss_scaler.h"
#include "ronde/train/session.h"

namespace ronde::train {

// Tells people and files how a training goes: progress on standard output, log.jsonl and TensorBoard files in
// output_folder(). Every rank has one; that of rank 0 speaks.
class Reporter {
 public:
  Reporter(const Session& session, Log log, const Criterion& criterion);
  ~Reporter();

  // Before the first step. `done`: steps that an earlier run has made, if this one goes on from there.
  // FAILS WITH: System when the output folder cannot be written.
  void begin(std::optional<std::int64_t> done, std::int64_t epoch, std::int64_t steps_per_epoch);
  void step(std::int64_t number, const Totals& totals, double learning_rate);
  void scaling(const LossScaler& scaler) { scaler_ = scaler; }  // as it is now; f16 only
  // `held_out`: what the evaluation after an epoch came to; `name`: of which samples, "test" or "validation".
  void epoch(std::int64_t epoch, std::int64_t step, const Results& held_out, const std::string& name);
  // The same within an epoch, after train.evaluate_every steps.
  void evaluation(std::int64_t step, const Results& held_out, const std::string& name);
  // After the last epoch, where the samples for testing have been kept back until then.
  void test(std::int64_t step, const Results& results);
  // What the input has done, for the summary: why training waited for it, if it did.
  void note_input(std::vector<data::StageStats> stages, std::int64_t skipped) {
    input_stages_ = std::move(stages);
    skipped_samples_ = skipped;
  }
  // `best`: the best checkpoint and what it is best by; empty: none.
  void end(bool interrupted, const std::filesystem::path& checkpoints, const std::string& best);

 private:
  struct Files;

  void show_progress();
  void note_held_out(const Results& held_out, const std::string& name);
  std::optional<double> compare_with_one_rank(const Summary& summary) const;
  void write_step(std::int64_t number, double learning_rate);
  void write_held_out(std::int64_t step, std::vector<Metric> metrics, const Results& held_out, const std::string& name);
  std::vector<Metric> with_noise(std::vector<Metric> line) const;

  const Session& session_;
  const Criterion criterion_;
  const Log log_;
  std::unique_ptr<Files> files_;  // of rank 0
  std::optional<Progress> progress_;
  Pace pace_;
  Milestone start_, epoch_start_, now_;
  std::int64_t epoch_ = 0, steps_per_epoch_ = 1, first_step_ = 0, steps_ = 0;
  Score epoch_score_, last_score_;
  std::optional<Results> validation_, test_;
  std::vector<data::StageStats> input_stages_;
  std::int64_t skipped_samples_ = 0;
  std::optional<std::chrono::nanoseconds> to_target_;
  std::chrono::nanoseconds written_at_{0};
  Score since_written_;
  NoiseScale noise_;
  std::optional<LossScaler> scaler_;
};

}  // namespace ronde::train
