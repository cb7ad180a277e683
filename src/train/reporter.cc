#include "ronde/train/reporter.h"

#include "ronde/base/clock.h"
#include "ronde/base/terminal.h"

namespace ronde::train {
namespace {

using std::chrono::nanoseconds;

constexpr auto kBetweenLines = std::chrono::seconds(1);  // of the log, within an epoch

nanoseconds seconds(double count) {
  return std::chrono::duration_cast<nanoseconds>(std::chrono::duration<double>(count));
}

}  // namespace

struct Reporter::Files {
  Files(const std::filesystem::path& folder, std::optional<std::int64_t> done)
      : metrics(folder / "log.jsonl", done), board(folder / "tensorboard", done) {}
  MetricsLog metrics;
  TensorBoardWriter board;
  bool complained = false;

  // A full disk is no reason to stop; it is said once.
  void check(const Log& log) {
    for (const auto* error : {&metrics.error(), &board.error()})
      if (*error && !std::exchange(complained, true)) log.warn("{}; training goes on without it", (*error)->what());
  }
};

Reporter::Reporter(const Session& session, Log log) : session_(session), log_(std::move(log)) {}
Reporter::~Reporter() = default;

void Reporter::begin(std::optional<std::int64_t> done, std::int64_t epoch, std::int64_t steps_per_epoch) {
  epoch_ = epoch;
  steps_per_epoch_ = steps_per_epoch;
  first_step_ = steps_ = done.value_or(0);
  now_.at = monotonic_now();
  start_ = epoch_start_ = now_;
  pace_.add(now_);
  if (session_.rank() != 0) return;
  const std::filesystem::path folder = session_.settings().get<"output.dir">();
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  if (failure) throw Error::system(failure.value(), "output.dir: cannot make {}", folder.string());
  files_ = std::make_unique<Files>(folder, done);
  progress_.emplace(ProgressOptions{.terminal = is_terminal(stdout)});
}

void Reporter::step(std::int64_t number, const Totals& totals, double learning_rate) {
  steps_ = number;
  now_.at = monotonic_now();
  now_.samples += totals.score.samples;
  now_.waited_input += seconds(totals.input_wait / session_.size());
  now_.waited_comm += seconds(totals.comm_wait / session_.size());
  epoch_score_ += totals.score;
  since_written_ += totals.score;
  pace_.add(now_);
  if (!files_) return;
  if (progress_->due()) show_progress();
  if (now_.at - written_at_ >= kBetweenLines) write_step(number, learning_rate);
}

void Reporter::show_progress() {
  const std::int64_t epochs = session_.settings().get<"train.epochs">();
  const std::int64_t batch = session_.settings().get<"train.batch">();
  progress_->show(ProgressFacts{.epoch = epoch_,
                                .epochs = epochs,
                                .step = steps_ - epoch_ * steps_per_epoch_,
                                .steps = steps_per_epoch_,
                                .score = epoch_score_,
                                .rates = pace_.rates(),
                                .left = pace_.time_for((epochs * steps_per_epoch_ - steps_) * batch)});
}

void Reporter::write_step(std::int64_t number, double learning_rate) {
  written_at_ = now_.at;
  const Rates rates = pace_.rates();
  const double loss = since_written_.mean_loss(), accuracy = since_written_.accuracy();
  since_written_ = {};
  std::vector<Metric> line = {{"kind", "train"},
                              {"epoch", epoch_},
                              {"loss", loss},
                              {"accuracy", accuracy},
                              {"lr", learning_rate},
                              {"samples_per_second", rates.samples_per_second},
                              {"input_share", rates.input_share},
                              {"comm_share", rates.comm_share}};
  if (scaler_) line.insert(line.end(), {{"loss_scale", scaler_->scale}, {"skipped_steps", scaler_->skipped}});
  files_->metrics.write(number, line);
  files_->board.write(number, {{"loss/train", loss},
                               {"accuracy/train", accuracy},
                               {"learning rate", learning_rate},
                               {"speed/samples per second", rates.samples_per_second},
                               {"speed/share waiting for input", rates.input_share},
                               {"speed/share waiting for ranks", rates.comm_share}});
  if (scaler_)
    files_->board.write(
        number, {{"f16/loss scale", scaler_->scale}, {"f16/skipped steps", static_cast<double>(scaler_->skipped)}});
  files_->check(log_);
}

void Reporter::epoch(std::int64_t epoch, std::int64_t step, const Score& held_out) {
  held_out_ = held_out;
  last_score_ = epoch_score_;
  const double target = session_.settings().get<"train.target_accuracy">();
  if (target > 0 && held_out.accuracy() >= target && !to_target_) to_target_ = monotonic_now() - start_.at;
  if (files_) {
    progress_->show(EpochFacts{.epoch = epoch,
                               .epochs = session_.settings().get<"train.epochs">(),
                               .train = epoch_score_,
                               .test = held_out,
                               .time = monotonic_now() - epoch_start_.at,
                               .rates = rates_between(epoch_start_, now_)});
    files_->metrics.write(step, {{"kind", "epoch"},
                                 {"epoch", epoch},
                                 {"loss", epoch_score_.mean_loss()},
                                 {"accuracy", epoch_score_.accuracy()},
                                 {"test_loss", held_out.mean_loss()},
                                 {"test_accuracy", held_out.accuracy()},
                                 {"test_accuracy5", held_out.accuracy5()},
                                 {"test_samples", held_out.samples}});
    files_->board.write(step, {{"loss/test", held_out.mean_loss()}, {"accuracy/test", held_out.accuracy()}});
    files_->check(log_);
  }
  epoch_score_ = {};
  epoch_ = epoch + 1;
  now_.at = monotonic_now();
  epoch_start_ = now_;
  pace_.add(now_);
}

void Reporter::end(bool interrupted, const std::filesystem::path& checkpoints) {
  if (!files_) return;
  Summary summary{.ranks = session_.size(),
                  .epochs = epoch_,
                  .steps = steps_ - first_step_,
                  .samples = now_.samples,
                  .time = now_.at - start_.at,
                  .train = interrupted ? epoch_score_ : last_score_,
                  .test = held_out_,
                  .time_to_target_accuracy = to_target_,
                  .rates = rates_between(start_, now_)};
  if (scaler_) summary.skipped_steps = scaler_->skipped;
  if (const double target = session_.settings().get<"train.target_accuracy">(); target > 0)
    summary.target_accuracy = target;
  summary.places = {{"log", files_->metrics.file().string()},
                    {"TensorBoard", files_->board.file().parent_path().string()}};
  if (!checkpoints.empty()) summary.places.emplace_back("checkpoint", checkpoints.string());
  if (session_.recorder()) summary.places.emplace_back("trace", session_.recorder()->file().parent_path().string());
  progress_->show(summary);
}

}  // namespace ronde::train
