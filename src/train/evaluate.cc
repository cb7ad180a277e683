#include "ronde/train/evaluate.h"

#include "ronde/data/loader.h"
#include "ronde/trace/span.h"
#include "ronde/train/totals.h"

namespace ronde::train {

Score evaluate(const Session& session, const Task& task, std::int64_t batch) {
  RONDE_SPAN("evaluate");
  torch::NoGradGuard no_grad;
  task.network->eval();
  data::Loader loader(*task.held_out, {.batch = batch,
                                       .rank = session.rank(),
                                       .ranks = session.size(),
                                       .shuffle = false,
                                       .recorder = session.recorder()});
  Totals mine;
  while (const auto next = loader.next()) {
    if (next->size() == 0) continue;
    const Samples samples = samples_of(*next, {0, next->size()}, task, session.device());
    mine.count(task.network->forward(samples.inputs), samples.labels, task.plain_loss);
  }
  task.network->train();
  const Totals all = mine.over_all(session.world());
  return {.loss = all.mean_loss(), .accuracy = all.accuracy(), .samples = static_cast<std::int64_t>(all.samples)};
}

}  // namespace ronde::train
