#include "ronde/train/trainer.h"

#include <algorithm>
#include <utility>

#include "ronde/base/error.h"
#include "ronde/base/system/clock.h"
#include "ronde/base/text/text.h"
#include "ronde/base/text/units.h"
#include "ronde/data/training/preparation.h"
#include "ronde/models/model.h"
#include "ronde/parallel/arena.h"
#include "ronde/parallel/collectives.h"
#include "ronde/trace/span.h"
#include "ronde/train/checkpoint/checkpoint_folder.h"
#include "ronde/train/checkpoint/checkpoint_manifest.h"
#include "ronde/train/evaluate/kept_results.h"
#include "ronde/train/input/input.h"
#include "ronde/train/input/mixup.h"
#include "ronde/train/loop/exchange.h"
#include "ronde/train/session/unused_settings.h"

namespace ronde::train {
namespace {

// In a checkpoint: whether the evaluation that was due last was made ("no"), what the main measure then was, and
// whether its weights have had the final test ("yes").
constexpr const char* kEvaluated = "evaluated";
constexpr const char* kMeasure = "measure";
constexpr const char* kTested = "tested";
// The main measure when it was best, and how many evaluations were made since: for train.patience.
constexpr const char* kBest = "best measure";
constexpr const char* kSinceBest = "evaluations since";
// Of the best checkpoint: the measure of checkpoint.best.
constexpr const char* kBestBy = "best by";

void require_batch(const Session& session, const Task& task) {
  const std::int64_t batch = session.options().batch;
  if (batch > task.samples->size())
    throw Error::bad_input("train.batch is {}, but {} has only {} samples", batch, task.samples->name(),
                           task.samples->size());
  require_enough_samples(session.options(), session.size());
}

// The settings of optimizer.* that a user's optimizer reads; nothing: it is a built-in one.
std::optional<std::vector<std::string>> own_optimizer(const Session& session) {
  for (const OptimizerEntry& entry : session.registry().optimizers)
    if (entry.name == session.options().optimizer.name)
      return std::vector<std::string>(entry.settings.begin(), entry.settings.end());
  return {};
}

// What somebody has set and this training would ignore is refused, where its result would be taken for another's.
void require_all_used(const Session& session, const Task& task, const Log& log) {
  const auto unused = unused_settings(session.settings(),
                                      {.preparation = data::preparation_of(session.options().data.name, *task.samples),
                                       .kind = task.samples->kind(),
                                       .has_norms = task.has_norms,
                                       .own_optimizer = own_optimizer(session)});
  std::vector<std::string> refused, told;
  for (const Unused& one : unused) (one.refused ? refused : told).push_back(one.sentence());
  if (!refused.empty()) throw Error::bad_input("{}; remove it", join(refused, "; "));
  if (!told.empty() && session.rank() == 0) log.info("{}", join(told, "; "));
}

// What checkpoint.best names is known before anything is evaluated.
void require_measure(const Session& session, const Task& task) {
  const std::string key = session.options().checkpoint.best;
  if (key.empty()) return;
  Evaluation nothing;
  for (const MeasureEntry& entry : task.measures) nothing.own.push_back({.key = entry.key, .name = entry.name});
  const Results results = results_of(nothing, task.criterion());
  if (!find_measure(results, key))
    throw Error::bad_input("checkpoint.best is '{}', but evaluations of this training measure {}", key,
                           join(measure_keys(results), ", "));
}

void say_other_network(const Session& session, const Task& task, const Log& log) {
  const data::SampleKind kind = task.samples->kind();
  const std::string other =
      models::other_network_of({.name = session.options().model.name, .height = kind.height, .width = kind.width});
  if (!other.empty() && session.rank() == 0) log.info("{}", other);
}

Mixing mixing_of(const Session& session, const Task& task) {
  const TrainingOptions& options = session.options();
  const std::int64_t batch = std::min(options.batch, task.samples->size());
  return {.alpha = mixup_of(options, task.target(), batch, session.size()), .seed = options.seed};
}

// What the settings have come to, by which a checkpoint of another training is told.
std::map<std::string, std::string> facts_of(const Task& task) {
  const data::SampleKind kind = task.samples->kind();
  return {{"classes", fmt::format("{}", kind.classes)},
          {"sample", data::shape_text(kind.shape())},
          {"training samples", fmt::format("{}", task.samples->size())}};
}

}  // namespace

Trainer::Trainer(Session& session, const Interrupt& interrupt, const Log& log, TimeLimit limit)
    : session_(session),
      interrupt_(interrupt),
      log_(log),
      limit_(limit),
      stream_(session.device()),
      task_(make_task(session)),
      mixing_(mixing_of(session, task_)),
      learner_(session, task_),
      checkpoint_manager_(session, log, facts_of(task_)),
      reporter_(session, log, task_.criterion()),
      totals_(session.world()),
      tested_(!task_.validation) {
  require_batch(session, task_);
  require_all_used(session, task_, log);
  require_measure(session, task_);
  say_other_network(session, task_, log);
  trace_job(session, task_);
  position_.seed = session.options().seed;
}

void Trainer::resume() {
  auto found = checkpoint_manager_.resume(*task_.network, learner_.optimizer(), learner_.average());
  find_best();
  if (!found) return;
  position_ = found->position;
  done_ = outcome_.steps = found->step;
  evaluated_ = found->extra[kEvaluated] != "no";
  tested_ = tested_ || found->extra[kTested] == "yes";
  if (const auto results = parse_kept_results(found->extra[kMeasure])) {
    outcome_.results = *results;
    evaluated_at_ = outcome_.steps;
  }
  if (const auto best = parse_kept_results(found->extra[kBest])) {
    best_ = best->measures.front();
    since_best_ = parse_number<std::int64_t>(found->extra[kSinceBest]).value_or(0);
  }
  learner_.restore(found->extra);
}

// What the best checkpoint is best by stands in itself: the one to go on from may be older, or of another folder.
void Trainer::find_best() {
  const std::string key = session_.options().checkpoint.best;
  if (key.empty()) return;
  std::string text;
  if (session_.rank() == 0) {
    const auto best = checkpoint_manager_.best();
    if (!best.empty()) text = read_manifest(best).info.extra[kBestBy];
  }
  const auto found = parse_kept_results(parallel::broadcast_text(std::move(text), session_.world()));
  if (found && found->measures.front().key == key) kept_best_ = found->measures.front();
}

Outcome Trainer::run() {
  resume();
  if (done_ && finished() && judged()) {
    say_complete();
    return outcome_;
  }
  const TrainingOptions& options = session_.options();
  data::Pipeline batches = training_data(options, *task_.samples, position_.seed, session_.rank(), session_.size())
                               .open(pipeline_of(session_), position_);
  reporter_.begin(done_, position_.epoch, task_.samples->size() / options.batch);
  // The job before had no time for it.
  if (!evaluated_) judge(epoch_of_evaluation());
  if (!finished()) train(batches);
  keep();
  test();
  checkpoint_manager_.finish();
  reporter_.note_input(batches.stages(), batches.skipped());
  trace_input(session_, batches.stages(), batches.skipped());
  reporter_.end(outcome_.stopped(), checkpoint_manager_.newest(), best_text());
  if (outcome_.to_be_continued) {
    require_kept();
    say_why_stopped();
  }
  // A rank that ends with a code other than 0 must not be ahead of the one that writes: launchers may stop the others.
  if (outcome_.stopped()) session_.world().barrier().wait();
  return outcome_;
}

bool Trainer::complete() const {
  return position_.epoch >= session_.options().epochs || is_last(outcome_.steps);
}

bool Trainer::finished() const {
  return complete() || reached_target() || out_of_patience();
}

bool Trainer::judged() const {
  return evaluated_ && tested_;
}

bool Trainer::is_last(std::int64_t step) const {
  const std::int64_t most = session_.options().steps;
  return most > 0 && step >= most;
}

// A job that promises to go on must have something to go on from.
void Trainer::require_kept() const {
  if (session_.rank() != 0 || step_of(checkpoint_manager_.newest().filename().string()) == outcome_.steps) return;
  throw Error(Error::Kind::System,
              fmt::format("stopped after step {}, but its checkpoint could not be written: training can only "
                          "resume from an older one",
                          outcome_.steps));
}

void Trainer::say_complete() const {
  if (session_.rank() != 0) return;
  const std::string folder = session_.options().output.string();
  std::string why = "is complete";
  if (!complete() && !reached_target()) {
    why = fmt::format("has not improved for {} evaluations (train.patience)", since_best_);
  } else if (!complete()) {
    const Measure& main = outcome_.results.measures.front();
    why = fmt::format("has reached train.target_accuracy = {} ({} {})", session_.options().target_accuracy, main.name,
                      text_of(main, 2));
  }
  log_.info(
      "the training in {} {} after {} steps; 'ronde eval {}' evaluates it; checkpoint.resume=none or another "
      "output.dir starts over",
      folder, why, outcome_.steps, folder);
}

void Trainer::say_why_stopped() const {
  if (session_.rank() != 0) return;
  std::string why = "a rank was asked to stop";
  if (const auto signal = interrupt_.asked_to_leave())
    why = fmt::format("{} was received", *signal);
  else if (const auto left = limit_.left(monotonic_now()); left && left->count() > 0)
    why = fmt::format("the deadline is in {}", format_duration(*left));
  else if (left)
    why = fmt::format("the deadline was missed by {}", format_duration(-*left));
  const bool by_itself = session_.options().checkpoint.resume == "auto";
  log_.info("stopped after step {}: {}; {} continues from there (exit code {})", outcome_.steps, why,
            by_itself ? "the same command" : "checkpoint.resume=auto", kToBeContinuedExit);
}

void Trainer::train(data::Pipeline& batches) {
  limit_.other_work_ended(monotonic_now());
  Feed feed(batches, session_, task_, mixing_);
  const std::vector<AfterStep> after = after_each_step(batches);
  while (!complete()) {
    const auto batch = next_batch(feed);
    if (!batch) break;
    const bool within = evaluates_after(outcome_.steps + 1);
    evaluated_ = !batch->facts.ends_epoch && !is_last(outcome_.steps + 1) && !within;
    const bool more = one_step(*batch, after);
    if (batch->facts.ends_epoch || !more)
      judge(batch->facts.epoch);
    else if (within)
      judge({});
    if (!more || outcome_.stopped() || reached_target() || out_of_patience()) break;
  }
  if (session_.recorder()) session_.recorder()->end_step();
}

// A step begins with waiting for its samples.
std::optional<StepBatch> Trainer::next_batch(Feed& feed) const {
  session_.begin_step(outcome_.steps + 1);
  return feed.next();
}

std::vector<Trainer::AfterStep> Trainer::after_each_step(const data::Pipeline& batches) {
  const auto trace = [this](const StepEnd&, Totals&) {
    parallel::trace_arena();
    clock_.step(session_.recorder());
    memory_.step(session_.recorder());
  };
  const auto count_input_wait = [&batches, before = std::chrono::nanoseconds(0)](const StepEnd&, Totals& mine) mutable {
    const std::chrono::nanoseconds waited = batches.waited();
    mine.input_wait = std::chrono::duration<double>(waited - std::exchange(before, waited)).count();
  };
  const auto ask_to_stop = [this](const StepEnd& step, Totals& mine) {
    mine.interrupted = interrupt_.asked() ? 1 : 0;
    limit_.step_ended(monotonic_now());
    mine.leave = wants_to_leave(step.evaluates) ? 1 : 0;
  };
  const auto ask_for_checkpoint = [this](const StepEnd& step, Totals& mine) {
    mine.keep = checkpoint_manager_.due(step.number) ? 1 : 0;
  };
  return {trace, count_input_wait, ask_to_stop, ask_for_checkpoint};
}

bool Trainer::one_step(const StepBatch& batch, const std::vector<AfterStep>& after) {
  const std::int64_t number = ++outcome_.steps;
  tested_ = !task_.validation;
  learner_.step(number, batch);
  position_ = batch.facts.after;
  // A GPU is to have the next step before anybody waits for what came of this one.
  const std::size_t ahead = stream_.device().is_cuda() ? 1 : 0;
  Totals mine = learner_.finished(ahead).value_or(Totals{});
  const bool evaluates = batch.facts.ends_epoch || is_last(number) || evaluates_after(number);
  for (const AfterStep& then : after) then({number, evaluates}, mine);
  if (const auto before = totals_.exchange(mine)) {
    see(*before);
    keep_if_asked(*before, number);
  }
  return !outcome_.stopped() && !is_last(number);
}

void Trainer::keep_if_asked(const Totals& before, std::int64_t number) {
  // Ranks that were asked before the last one was kept may have found it due once more.
  const bool stale = checkpoint_manager_.goes_by_time() && number - 1 == kept_on_;
  if (before.keep == 0 || stale) return;
  kept_on_ = number;
  keep();
}

// Time is rank 0's affair, which writes and so knows what that takes.
bool Trainer::wants_to_leave(bool evaluates) {
  if (interrupt_.asked_to_leave()) return true;
  if (session_.rank() != 0 || !limit_.left(monotonic_now())) return false;
  TimeNeeds needs{.checkpoint = checkpoint_manager_.expected_time(*task_.network)};
  if (evaluates) {  // until one was seen, forward passes are taken for steps
    const std::int64_t batch = session_.options().batch;
    needs.evaluation = evaluation_time_.value_or((task_.after_epochs().size() / batch + 1) * limit_.longest_step());
    if (!session_.options().checkpoint.best.empty()) needs.checkpoint *= 2;  // the best one, and that to go on from
  }
  return limit_.over(monotonic_now(), needs);
}

void Trainer::see(const Totals& totals) {
  outcome_.interrupted = outcome_.interrupted || totals.interrupted > 0;
  outcome_.to_be_continued = outcome_.to_be_continued || totals.leave > 0;
  if (learner_.scaler()) reporter_.scaling(*learner_.scaler());
  if (totals.step > 0) reporter_.step(totals.step, totals, totals.learning_rate);
}

// With train.ema it is the average that is judged.
Evaluation Trainer::evaluated_on(const data::Source& samples) {
  Evaluation found;
  const auto work = [&] { found = evaluate(session_, task_, samples, session_.options().batch); };
  if (WeightAverage* const average = learner_.average())
    average->instead_of_weights(work);
  else
    work();
  return found;
}

bool Trainer::evaluates_after(std::int64_t step) const {
  const std::int64_t every = session_.options().evaluate_every;
  return every > 0 && step % every == 0;
}

// Of one that an earlier job had no time for: the epoch that has ended; nothing: it was due within one.
std::optional<std::int64_t> Trainer::epoch_of_evaluation() const {
  if (position_.position == 0) return position_.epoch - 1;
  if (is_last(outcome_.steps) || !evaluates_after(outcome_.steps)) return position_.epoch;
  return {};
}

// All that is known of the steps so far is seen. False: ranks are to stop.
bool Trainer::settle() {
  if (session_.recorder()) session_.recorder()->end_step();
  const auto look = [this](const std::optional<Totals>& totals) {
    if (!totals) return;
    see(*totals);
    keep_due_ = keep_due_ || totals->keep > 0;
  };
  while (const auto rest = learner_.finished()) look(totals_.exchange(*rest));
  look(totals_.last());
  return !outcome_.stopped();
}

// `epoch`: the one that has ended; nothing: it goes on.
void Trainer::judge(std::optional<std::int64_t> epoch) {
  if (!settle()) return;
  learner_.sync_weights();
  const auto begin = monotonic_now();
  const Evaluation found = evaluated_on(task_.after_epochs());
  outcome_.score = found.score;
  outcome_.results = results_of(found, task_.criterion());
  const std::string name = task_.validation ? "validation" : "test";
  if (epoch)
    reporter_.epoch(*epoch, outcome_.steps, outcome_.results, name);
  else
    reporter_.evaluation(outcome_.steps, outcome_.results, name);
  evaluated_ = true;
  evaluated_at_ = outcome_.steps;
  note_progress();
  evaluation_time_ = monotonic_now() - begin;
  keep_best();
  const bool stale = checkpoint_manager_.goes_by_time() && kept_on_ == outcome_.steps;  // as in keep_if_asked()
  if (std::exchange(keep_due_, false) && !stale) {
    kept_on_ = outcome_.steps;
    keep();
  }
  limit_.other_work_ended(monotonic_now());
}

// Samples for testing are looked at once, where others were there to judge by. A checkpoint then says so: a test that
// was broken off is made good by the next run.
void Trainer::test() {
  if (tested_ || outcome_.stopped()) return;
  const Evaluation found = evaluated_on(*task_.held_out);
  reporter_.test(outcome_.steps, results_of(found, task_.criterion()));
  tested_ = true;
  keep();
}

bool Trainer::reached_target() const {
  const double target = session_.options().target_accuracy;
  return target > 0 && outcome_.results.reached(target);
}

void Trainer::note_progress() {
  const Measure now = main_measure(outcome_.results);
  const bool better = is_better(now, best_);
  since_best_ = better ? 0 : since_best_ + 1;
  if (better) best_ = now;
  if (out_of_patience() && session_.rank() == 0)
    log_.info("{} has not improved for {} evaluations (train.patience): it was best at {}", best_->name, since_best_,
              text_of(*best_, 2));
}

bool Trainer::out_of_patience() const {
  const std::int64_t patience = session_.options().patience;
  return patience > 0 && since_best_ >= patience;
}

// Brings together what ranks may have apart.
TrainingState Trainer::state_to_keep() {
  stream_.synchronize();  // nothing is kept of which nobody knows yet whether all ranks have their part in it
  learner_.check_exchange();
  learner_.sync_weights();
  if (checkpoint_manager_.sharded()) {  // each rank has its own buffers
    parallel::broadcast_buffers(*task_.network, session_.world());
    if (learner_.average()) parallel::broadcast_tensors(learner_.average()->of_buffers(), session_.world());
  }
  TrainingState state{.step = outcome_.steps, .position = position_, .extra = learner_.extra()};
  if (!evaluated_) state.extra[kEvaluated] = "no";
  if (evaluated_at_ == outcome_.steps) state.extra[kMeasure] = kept_text(outcome_.results);
  if (task_.validation && tested_) state.extra[kTested] = "yes";
  if (best_) {
    state.extra[kBest] = kept_text({.measures = {*best_}});
    state.extra[kSinceBest] = fmt::format("{}", since_best_);
  }
  return state;
}

void Trainer::keep() {
  checkpoint_manager_.keep(state_to_keep(), *task_.network, learner_.optimizer(), learner_.average());
}

// After an evaluation.
void Trainer::keep_best() {
  const std::string key = session_.options().checkpoint.best;
  if (key.empty()) return;
  const Measure now = find_measure(outcome_.results, key).value();
  if (!is_better(now, kept_best_)) return;
  kept_best_ = now;
  TrainingState state = state_to_keep();
  state.extra[kBestBy] = kept_text({.measures = {now}});
  checkpoint_manager_.keep_best(state, *task_.network, learner_.optimizer(), learner_.average());
}

// For the summary.
std::string Trainer::best_text() const {
  if (!kept_best_ || session_.rank() != 0) return {};
  return fmt::format("{} ({} {})", checkpoint_manager_.best().string(), kept_best_->name, text_of(*kept_best_, 2));
}

}  // namespace ronde::train
