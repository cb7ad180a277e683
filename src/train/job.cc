#include "ronde/train/job.h"

#include "ronde/base/error.h"
#include "ronde/base/settings/environment.h"
#include "ronde/base/system/clock.h"
#include "ronde/base/text/format.h"
#include "ronde/models/tensor_map.h"
#include "ronde/parallel/arena.h"
#include "ronde/train/limits/machine_rates.h"
#include "ronde/train/loop/agree.h"
#include "ronde/train/loop/resume_rules.h"
#include "ronde/train/optim/entry.h"
#include "ronde/train/plugin/load_plugins.h"
#include "ronde/train/session/hardware.h"
#include "ronde/train/session/interrupt.h"
#include "ronde/train/trainer.h"

namespace ronde::train {
namespace {

Settings with_consequences(Settings settings) {
  if (settings.get<"train.deterministic">()) settings.set("comm.deterministic", "true", "train.deterministic");
  return settings;
}

// What is process-wide in torch.
void prepare_torch(const Settings& settings) {
  const TrainingOptions options = training_options(settings);
  if (options.arena) install_arena(arena_options(settings));
  apply_device_settings(options);
}

// When this rank fails, the others are to know why.
template <class Work>
int as_one_of_many(const Settings& settings, std::shared_ptr<const Registry> registry, Work work) {
  prepare_torch(settings);
  Session session(settings, std::move(registry));
  try {
    require_same_settings(settings, session.world());
    return work(session);
  } catch (const std::exception& failure) {
    session.fail(failure.what());
    throw;
  }
}

}  // namespace

int run_training(const Settings& settings, const Log& log, std::shared_ptr<const Registry> own) {
  const TrainingOptions options = training_options(settings);
  const auto registry = with_plugins(settings, std::move(own));
  registry->check();
  (void)find_optimizer(options.optimizer.name, registry->optimizers);  // before samples are looked for
  const TimeLimit limit(monotonic_now(), time_left(options, std::chrono::system_clock::now()));
  return as_one_of_many(with_consequences(settings), registry, [&](Session& session) {
    announce_arithmetic(session, log);
    trace_machine(session, log);  // before there is anything else to do on the node
    // Before ranks have met, and after they have failed, there is nothing to save: signals then end the process.
    const Interrupt interrupt;
    const Outcome outcome = Trainer(session, interrupt, log, limit).run();
    if (outcome.interrupted) return kInterruptedExit;
    return outcome.to_be_continued ? kToBeContinuedExit : 0;
  });
}

namespace {

// The settings by which a checkpoint was made; what the user says now comes after. A trace has a folder of its own: a
// training may have written, or be writing, where the user has traces.
Settings settings_of(const CheckpointInfo& info, const std::string& origin, std::span<const Settings::Flag> flags,
                     const Environment& environment) {
  Settings settings;
  const auto given = info.extra.find(kGivenSettings);
  const auto asked = given == info.extra.end() ? std::nullopt : std::optional(given->second);
  for (const auto& [key, text] : settings_to_evaluate(info.settings, asked)) settings.set(key, text, origin);
  settings.read_environment(environment);
  for (const Settings::Flag& flag : flags) settings.set(flag.key, flag.text, flag.origin);
  if (const std::filesystem::path traces = settings.get<"trace.dir">(); !traces.empty())
    settings.set("trace.dir", (traces / "evaluation").string(), "ronde eval");
  return settings;
}

}  // namespace

int run_evaluation(const std::filesystem::path& checkpoint, std::span<const Settings::Flag> flags,
                   const Environment& environment, const Log& /*log*/, std::shared_ptr<const Registry> own) {
  const auto path = find_checkpoint(checkpoint);
  const Checkpoint loaded = load_checkpoint(path);
  const Settings settings = settings_of(loaded.info, path.string(), flags, environment);
  const auto plugins = loaded.info.settings.find("plugin");
  if (settings.get<"plugin">().empty() && plugins != loaded.info.settings.end() && !plugins->second.empty())
    throw Error::bad_input("{} was trained with a plugin: add --plugin {}", path.string(), plugins->second);
  return as_one_of_many(settings, with_plugins(settings, std::move(own)), [&](Session& session) {
    require_precision(parse_precision(session.options().precision), hardware_of(session));
    const Task task = make_task(session);
    const bool average = !loaded.ema.empty() && session.options().ema > 0;  // train.ema = 0: the weights themselves
    models::copy_values(average ? loaded.ema : loaded.model, models::state_of(*task.network), path.string());
    const Results results =
        results_of(evaluate(session, task, *task.held_out, session.options().batch), task.criterion());
    if (session.rank() != 0) return 0;
    fmt::print("{}: step {}{}, {} samples held out of {}: {}\n", path.string(), loaded.info.step,
               average ? " (moving average of the weights)" : "", results.samples, task.held_out->name(),
               text_of(results, true));
    if (!results.by_class.empty()) fmt::print("{}: {}\n", results.by_class_key, by_class_text(results));
    if (session.recorder()) fmt::print("trace: {}\n", session.recorder()->file().parent_path().string());
    return 0;
  });
}

}  // namespace ronde::train
