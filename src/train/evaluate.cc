#include "ronde/train/evaluate.h"

#include "ronde/data/loader.h"
#include "ronde/parallel/collectives.h"
#include "ronde/trace/span.h"
#include "ronde/train/input.h"
#include "ronde/train/precision.h"
#include "ronde/train/tally.h"

namespace ronde::train {

Evaluation evaluate(const Session& session, const Task& task, const data::Source& samples, std::int64_t batch) {
  RONDE_SPAN("evaluate");
  torch::NoGradGuard no_grad;
  // Running means are each rank's own, unless norms are synchronised: those of rank 0 count, as in a checkpoint.
  parallel::broadcast_buffers(*task.network, session.world());
  task.network->eval();
  data::Loader loader(samples, {.batch = batch,
                                .rank = session.rank(),
                                .ranks = session.size(),
                                .shuffle = false,
                                .pipeline = pipeline_of(session)});
  const Precision precision = parse_precision(session.settings().get<"train.precision">());
  Tally tally(samples.kind().target, samples.kind().classes);
  while (const auto next = loader.next()) {
    if (next->size() == 0) continue;
    const Samples part = samples_of(*next, {0, next->size()}, task, session.device());
    const auto outputs = forward_in(precision, *task.network, part.inputs);
    tally.add(outputs, part.targets, task.plain_loss(outputs, part.targets).item<double>());
  }
  task.network->train();
  return tally.together(session.world());
}

}  // namespace ronde::train
