#include "ronde/train/trainer.h"

#include "ronde/base/error.h"
#include "ronde/parallel/arena.h"
#include "ronde/trace/span.h"

namespace ronde::train {
namespace {

std::int64_t checked_batch(const Session& session, const Task& task) {
  const std::int64_t batch = session.settings().get<"train.batch">();
  const std::int64_t passes = session.settings().get<"train.accumulate">();
  if (batch > task.samples->size())
    throw Error::bad_input("train.batch is {}, but {} has only {} samples", batch, task.samples->name(),
                           task.samples->size());
  if (batch < session.size() * passes)
    throw Error::bad_input("train.batch is {}: too few for {} ranks with {} backward passes each", batch,
                           session.size(), passes);
  return batch;
}

}  // namespace

Trainer::Trainer(Session& session, const Interrupt& interrupt, const Log& log)
    : session_(session),
      interrupt_(interrupt),
      task_(make_task(session)),
      learner_(session, task_),
      keeper_(session, log),
      reporter_(session, log),
      totals_(session.world()) {
  checked_batch(session, task_);
  position_.seed = static_cast<std::uint64_t>(session.settings().get<"train.seed">());
}

Outcome Trainer::run() {
  std::optional<std::int64_t> done;
  if (const auto found = keeper_.resume(*task_.network, learner_.optimizer())) {
    position_ = found->position;
    done = outcome_.steps = found->step;
  }
  const Settings& settings = session_.settings();
  data::Loader loader(*task_.samples, {.batch = settings.get<"train.batch">(),
                                       .rank = session_.rank(),
                                       .ranks = session_.size(),
                                       .start = position_,
                                       .end_epoch = settings.get<"train.epochs">(),
                                       .keep_short = false,  // an epoch's rest is too small for some numbers of ranks
                                       .recorder = session_.recorder()});
  reporter_.begin(done, position_.epoch, loader.plan().batches());
  for (auto batch = loader.next(); batch; batch = loader.next()) {
    const bool more = one_step(loader, *batch);
    if (batch->facts().ends_epoch || !more) end_epoch(batch->facts().epoch);
    if (!more || reached_target()) break;
  }
  test();
  keep();
  keeper_.finish();
  reporter_.end(outcome_.interrupted, keeper_.newest());
  return outcome_;
}

bool Trainer::one_step(data::Loader& loader, const data::Batch& batch) {
  const std::int64_t number = ++outcome_.steps;
  session_.engine().set_step(number);
  if (session_.recorder()) session_.recorder()->step(number);
  Totals mine = learner_.step(number, batch);
  parallel::trace_arena();
  mine.input_wait = std::chrono::duration<double>(loader.waited() - input_waited_).count();
  input_waited_ = loader.waited();
  mine.interrupted = interrupt_.asked() ? 1 : 0;
  mine.keep = keeper_.due(number) ? 1 : 0;
  position_ = batch.facts().after;
  const auto before = totals_.exchange(mine);
  if (before) see(number - 1, *before);
  if (before && before->keep > 0) keep();
  const std::int64_t most = session_.settings().get<"train.steps">();
  return !outcome_.interrupted && (most == 0 || number < most);
}

void Trainer::see(std::int64_t step, const Totals& totals) {
  outcome_.interrupted = outcome_.interrupted || totals.interrupted > 0;
  reporter_.step(step, totals, learner_.learning_rate());
}

void Trainer::end_epoch(std::int64_t epoch) {
  if (const auto last = totals_.last()) see(outcome_.steps, *last);
  if (outcome_.interrupted) return;
  learner_.come_together();
  const Evaluation found = evaluate(session_, task_, task_.after_epochs(), session_.settings().get<"train.batch">());
  outcome_.score = found.score;
  outcome_.results = results_of(found, task_.target());
  reporter_.epoch(epoch, outcome_.steps, outcome_.results, task_.validation ? "validation" : "test");
}

// Samples for testing are looked at once, where others were there to judge by.
void Trainer::test() {
  if (!task_.validation || outcome_.interrupted) return;
  const Evaluation found = evaluate(session_, task_, *task_.held_out, session_.settings().get<"train.batch">());
  reporter_.test(outcome_.steps, results_of(found, task_.target()));
}

bool Trainer::reached_target() const {
  const double target = session_.settings().get<"train.target_accuracy">();
  return target > 0 && outcome_.results.reached(target);
}

void Trainer::keep() {
  learner_.come_together();
  keeper_.keep({.step = outcome_.steps, .position = position_}, *task_.network, learner_.optimizer());
}

}  // namespace ronde::train
