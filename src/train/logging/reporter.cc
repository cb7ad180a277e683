#include "ronde/train/logging/reporter.h"

#include "ronde/base/system/cache.h"
#include "ronde/base/system/clock.h"
#include "ronde/base/text/terminal.h"
#include "ronde/train/input/input.h"
#include "ronde/train/limits/speeds.h"
#include "ronde/train/session/hardware.h"

namespace ronde::train {
namespace {

using std::chrono::nanoseconds;

constexpr std::int64_t kTellingSteps = 20;
constexpr double kMuchWaiting = 0.05;                    // for input: then it is said why
constexpr auto kBetweenLines = std::chrono::seconds(1);  // of the log, within an epoch

nanoseconds seconds(double count) {
  return std::chrono::duration_cast<nanoseconds>(std::chrono::duration<double>(count));
}

void add_metrics(std::vector<Metric>& metrics, const Results& results, const std::string& prefix) {
  metrics.emplace_back(prefix + "loss", results.loss);
  for (const Measure& measure : results.measures) metrics.emplace_back(prefix + measure.key, measure.value);
  if (!results.by_class.empty()) metrics.emplace_back(prefix + results.by_class_key, results.by_class);
}

std::vector<Scalar> scalars_of(const Results& results, const std::string& of) {
  std::vector<Scalar> scalars = {{"loss/" + of, results.loss}};
  for (const Measure& measure : results.measures)
    scalars.emplace_back(fmt::format("{}/{}", measure.key, of), measure.value);
  return scalars;
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
      if (*error && !std::exchange(complained, true)) log.warn("{}; training continues without it", (*error)->what());
  }
};

Reporter::Reporter(const Session& session, Log log, const Criterion& criterion)
    : session_(session), criterion_(criterion), log_(std::move(log)) {}
Reporter::~Reporter() = default;

void Reporter::begin(std::optional<std::int64_t> done, std::int64_t epoch, std::int64_t steps_per_epoch) {
  epoch_ = epoch;
  steps_per_epoch_ = steps_per_epoch;
  first_step_ = steps_ = done.value_or(0);
  now_.at = monotonic_now();
  start_ = epoch_start_ = now_;
  pace_.add(now_);
  if (session_.rank() != 0) return;
  const std::filesystem::path folder = session_.options().output;
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  if (failure) throw Error::system(failure.value(), "output.dir: cannot create {}", folder.string());
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
  noise_.add(totals.noise, static_cast<double>(session_.options().batch));
  pace_.add(now_);
  if (!files_) return;
  if (progress_->due()) show_progress();
  if (now_.at - written_at_ >= kBetweenLines) write_step(number, learning_rate);
}

void Reporter::show_progress() {
  const std::int64_t epochs = session_.options().epochs;
  const std::int64_t batch = session_.options().batch;
  progress_->show(ProgressFacts{
      .epoch = epoch_,
      .epochs = epochs,
      .step = steps_ - epoch_ * steps_per_epoch_,
      .steps = steps_per_epoch_,
      .results = results_of(epoch_score_, criterion_),
      .rates = pace_.rates(),
      .left = pace_.time_for(steps_left(steps_, epochs * steps_per_epoch_, session_.options().steps) * batch)});
}

// Where it is known.
std::vector<Metric> Reporter::with_noise(std::vector<Metric> line) const {
  if (const auto scale = noise_.value()) line.emplace_back("noise_scale", *scale);
  return line;
}

void Reporter::write_step(std::int64_t number, double learning_rate) {
  written_at_ = now_.at;
  const Rates rates = pace_.rates();
  const Results results = results_of(std::exchange(since_written_, {}), criterion_);
  std::vector<Metric> metrics = {{"kind", "train"}, {"epoch", epoch_}};
  add_metrics(metrics, results, "");
  metrics.insert(metrics.end(), {{"lr", learning_rate},
                                 {"samples_per_second", rates.samples_per_second},
                                 {"input_share", rates.input_share},
                                 {"comm_share", rates.comm_share}});
  if (scaler_) metrics.insert(metrics.end(), {{"loss_scale", scaler_->scale}, {"skipped_steps", scaler_->skipped}});
  files_->metrics.write(number, with_noise(std::move(metrics)));
  std::vector<Scalar> scalars = scalars_of(results, "train");
  scalars.insert(scalars.end(), {{"learning rate", learning_rate},
                                 {"speed/samples per second", rates.samples_per_second},
                                 {"speed/share waiting for input", rates.input_share},
                                 {"speed/share waiting for ranks", rates.comm_share}});
  if (noise_.value()) scalars.push_back({"gradient noise scale", *noise_.value()});
  if (scaler_)
    scalars.insert(scalars.end(),
                   {{"f16/loss scale", scaler_->scale}, {"f16/skipped steps", static_cast<double>(scaler_->skipped)}});
  files_->board.write(number, scalars);
  files_->check(log_);
}

void Reporter::note_held_out(const Results& held_out, const std::string& name) {
  (name == "test" ? test_ : validation_) = held_out;
  const double target = session_.options().target_accuracy;
  if (target > 0 && held_out.reached(target) && !to_target_) to_target_ = monotonic_now() - start_.at;
}

// The time that it took is no part of the epoch's.
void Reporter::evaluation(std::int64_t step, const Results& held_out, const std::string& name) {
  note_held_out(held_out, name);
  if (files_) {
    progress_->show(EvaluationFacts{.step = step, .held_out = held_out, .held_out_name = name});
    write_held_out(step, {{"kind", "evaluation"}, {"epoch", epoch_}}, held_out, name);
  }
  const auto before = std::exchange(now_.at, monotonic_now());
  epoch_start_.at += now_.at - before;
  pace_.add(now_);
}

void Reporter::epoch(std::int64_t epoch, std::int64_t step, const Results& held_out, const std::string& name) {
  note_held_out(held_out, name);
  last_score_ = epoch_score_;
  if (files_) {
    progress_->show(EpochFacts{.epoch = epoch,
                               .epochs = session_.options().epochs,
                               .train = results_of(epoch_score_, criterion_),
                               .trained = epoch_score_.samples > 0,
                               .held_out = held_out,
                               .held_out_name = name,
                               .time = monotonic_now() - epoch_start_.at,
                               .rates = rates_between(epoch_start_, now_),
                               .noise_scale = noise_.value()});
    std::vector<Metric> metrics = {{"kind", "epoch"}, {"epoch", epoch}};
    add_metrics(metrics, results_of(epoch_score_, criterion_), "");
    write_held_out(step, with_noise(std::move(metrics)), held_out, name);
  }
  epoch_score_ = {};
  epoch_ = epoch + 1;
  now_.at = monotonic_now();
  epoch_start_ = now_;
  pace_.add(now_);
}

void Reporter::test(std::int64_t step, const Results& results) {
  test_ = results;
  if (files_) write_held_out(step, {{"kind", "test"}}, results, "test");
}

void Reporter::write_held_out(std::int64_t step, std::vector<Metric> metrics, const Results& held_out,
                              const std::string& name) {
  add_metrics(metrics, held_out, name + "_");
  metrics.emplace_back(name + "_samples", held_out.samples);
  files_->metrics.write(step, metrics);
  files_->board.write(step, scalars_of(held_out, name));
  files_->check(log_);
}

// Remembers how fast one rank was; of several, says how fast each is against one. Short trainings tell too little.
std::optional<double> Reporter::compare_with_one_rank(const Summary& summary) const {
  const std::filesystem::path folder = cache_folder(Environment::of_process());
  if (summary.steps < kTellingSteps || folder.empty()) return {};
  const HardwareFacts facts = hardware_of(session_);
  const std::string work = Speeds::work_of(session_.settings(), facts.gpu ? facts.gpu->name : facts.cpu.name,
                                           facts.gpu ? 1 : torch::get_num_threads());
  const std::int64_t batch = session_.options().batch;
  const double speed = summary.rates.samples_per_second;
  Speeds speeds = load_speeds(folder / "speeds.json");
  if (summary.ranks > 1) return speeds.efficiency(work, batch, summary.ranks, speed);
  speeds.note(work, batch, speed);
  save_speeds(folder / "speeds.json", speeds);
  return {};
}

void Reporter::end(bool interrupted, const std::filesystem::path& checkpoints, const std::string& best) {
  if (!files_) return;
  Summary summary{.ranks = session_.size(),
                  .epochs = epoch_,
                  .steps = steps_ - first_step_,
                  .samples = now_.samples,
                  .time = now_.at - start_.at,
                  .train = results_of(interrupted ? epoch_score_ : last_score_, criterion_),
                  .validation = validation_,
                  .test = test_,
                  .time_to_target_accuracy = to_target_,
                  .rates = rates_between(start_, now_),
                  .noise_scale = noise_.value()};
  if (scaler_) summary.skipped_steps = scaler_->skipped;
  if (const double target = session_.options().target_accuracy; target > 0) summary.target_accuracy = target;
  summary.efficiency = compare_with_one_rank(summary);
  if (summary.rates.input_share > kMuchWaiting) summary.input_limit = why_input_waits(input_stages_);
  summary.skipped_samples = skipped_samples_;
  summary.places = {{"log", files_->metrics.file().string()},
                    {"TensorBoard", files_->board.file().parent_path().string()}};
  if (!checkpoints.empty()) summary.places.emplace_back("checkpoint", checkpoints.string());
  if (!best.empty()) summary.places.emplace_back("best checkpoint", best);
  if (session_.recorder()) summary.places.emplace_back("trace", session_.recorder()->file().parent_path().string());
  progress_->show(summary);
}

}  // namespace ronde::train
