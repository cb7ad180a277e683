#include "ronde/train/evaluate.h"

#include "ronde/data/loader.h"
#include "ronde/parallel/collectives.h"
#include "ronde/trace/span.h"
#include "ronde/train/feed.h"
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
  Feed feed(loader, session, task);
  while (const auto part = feed.next()) {
    if (part->size() == 0) continue;
    const auto outputs = forward_in(precision, *task.network, part->inputs);
    tally.add(outputs, part->plain, task.plain_loss(outputs, part->plain).item<double>());
  }
  task.network->train();
  return tally.together(session.world());
}

}  // namespace ronde::train
