#include "ronde/train/evaluate.h"

#include "ronde/data/loader.h"
#include "ronde/parallel/collectives.h"
#include "ronde/trace/span.h"
#include "ronde/train/precision.h"

namespace ronde::train {

Score evaluate(const Session& session, const Task& task, std::int64_t batch) {
  RONDE_SPAN("evaluate");
  torch::NoGradGuard no_grad;
  // Running means are each rank's own, unless norms are synchronised: those of rank 0 count, as in a checkpoint.
  parallel::broadcast_buffers(*task.network, session.world());
  task.network->eval();
  data::Loader loader(*task.held_out, {.batch = batch,
                                       .rank = session.rank(),
                                       .ranks = session.size(),
                                       .shuffle = false,
                                       .recorder = session.recorder()});
  const Precision precision = parse_precision(session.settings().get<"train.precision">());
  Score mine;
  while (const auto next = loader.next()) {
    if (next->size() == 0) continue;
    const Samples samples = samples_of(*next, {0, next->size()}, task, session.device());
    const auto outputs = forward_in(precision, *task.network, samples.inputs);
    const double loss = task.plain_loss(outputs, samples.labels).item<double>();
    mine += score_of(outputs, samples.labels, loss / static_cast<double>(next->size()));
  }
  task.network->train();
  return sum_over(session.world(), "evaluation", mine);
}

}  // namespace ronde::train
