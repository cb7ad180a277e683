#include "ronde/train/job.h"

#include "ronde/base/error.h"
#include "ronde/parallel/arena.h"
#include "ronde/train/agree.h"
#include "ronde/train/interrupt.h"
#include "ronde/train/trainer.h"

namespace ronde::train {
namespace {

Settings with_consequences(Settings settings) {
  if (settings.get<"train.deterministic">()) settings.set("comm.deterministic", "true", "train.deterministic");
  return settings;
}

// What is process-wide in torch.
void prepare_torch(const Settings& settings) {
  if (settings.get<"memory.arena">()) install_arena(arena_options(settings));
  if (settings.get<"train.deterministic">()) at::globalContext().setDeterministicAlgorithms(true, false);
}

// When this rank fails, the others are to know why.
template <class Work>
int as_one_of_many(const Settings& settings, Work work) {
  prepare_torch(settings);
  Session session(settings);
  try {
    require_same_settings(settings, session.world());
    return work(session);
  } catch (const std::exception& failure) {
    session.engine().shutdown(failure.what());
    throw;
  }
}

}  // namespace

int run_training(const Settings& settings, const Log& log) {
  const Interrupt interrupt;
  return as_one_of_many(with_consequences(settings), [&](Session& session) {
    return Trainer(session, interrupt, log).run().interrupted ? kInterruptedExit : 0;
  });
}

}  // namespace ronde::train
