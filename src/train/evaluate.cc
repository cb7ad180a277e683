#include "ronde/train/evaluate.h"

#include "ronde/base/log.h"
#include "ronde/parallel/collectives.h"
#include "ronde/trace/span.h"
#include "ronde/trace/span_names.h"
#include "ronde/train/evaluate/tally.h"
#include "ronde/train/input/input.h"
#include "ronde/train/loop/feed.h"
#include "ronde/train/precision.h"

namespace ronde::train {
namespace {

// Each rank has named those that it could not read.
void say_what_is_missing(const Session& session, std::int64_t missing, std::int64_t samples) {
  if (missing == 0 || session.rank() != 0) return;
  const Log log({.level = session.options().log_level});
  log.warn("the evaluation leaves out {} of {} samples, which cannot be read", missing, samples);
}

}  // namespace

Evaluation evaluate(const Session& session, const Task& task, const data::Source& samples, std::int64_t batch) {
  RONDE_SPAN(trace::span_names::kEvaluate);
  torch::NoGradGuard no_grad;
  // Running means are each rank's own, unless norms are synchronised: those of rank 0 count, as in a checkpoint.
  parallel::broadcast_buffers(*task.network, session.world());
  task.network->eval();
  data::Pipeline batches = evaluation_data(samples, batch, session.rank(), session.size()).open(pipeline_of(session));
  const Precision precision = parse_precision(session.options().precision);
  Tally tally(samples.kind().target, samples.kind().classes, task.measures);
  Feed feed(batches, session, task);
  while (const auto all = feed.next()) {
    const StepBatch part = all->without_stand_ins();
    if (part.size() == 0) continue;
    const auto outputs = forward_in(precision, *task.network, part.inputs);
    tally.add(outputs, part.plain, task.plain_loss(outputs, part.plain).item<double>());
  }
  task.network->train();
  Evaluation found = tally.together(session.world());
  say_what_is_missing(session, samples.size() - found.score.samples, samples.size());
  return found;
}

}  // namespace ronde::train
