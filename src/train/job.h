#pragma once

#include <filesystem>
#include <memory>
#include <span>

#include "ronde/base/log.h"
#include "ronde/base/settings/settings.h"

// The jobs of `ronde train` and `ronde eval`: everything from the first rank's meeting to the last line. No torch in
// sight, so that a program may be built without seeing its headers.
namespace ronde::train {

struct Registry;

// Trains as the settings say; every rank of the job calls it. Returns the exit code: 0; 130 after an interrupt;
// 75 when it stopped in time, by a deadline or a scheduler's signal, with a checkpoint to go on from.
// `own`: what a program adds to what is built in (registry.h); plugins that the settings name are loaded besides.
// FAILS WITH: BadInput for what cannot be trained, ranks that differ; as Handle::wait(); System.
int run_training(const Settings& settings, const Log& log, std::shared_ptr<const Registry> own = nullptr);

// Evaluates a checkpoint, or the newest one in a folder (find_checkpoint()), on the held-out samples of the recipe it
// was made by, as far as variables and flags do not say otherwise. Prints the score. It writes nothing but a trace, if
// the user asks for one, into trace.dir/evaluation.
int run_evaluation(const std::filesystem::path& checkpoint, std::span<const Settings::Flag> flags,
                   const Environment& environment, const Log& log, std::shared_ptr<const Registry> own = nullptr);

}  // namespace ronde::train
