#pragma once

#include <string>

#include "ronde/tune/search.h"

namespace ronde::tune {

// A search as the journal of Optuna's JournalFileBackend, which `optuna-dashboard FILE` and
// optuna.load_study(storage=JournalStorage(...)) read: one JSON object per line. Trials that the scheduler has stopped
// are PRUNED. Values that Optuna has no distribution for (normal variables, computed ones) are attributes. Pure.
// FAILS WITH: BadInput for a search without a metric.
std::string optuna_journal(const Search& search, const std::string& study_name);

// A distribution as Optuna writes it, as JSON text; empty for a normal variable. Pure.
std::string optuna_distribution(const Domain& domain);

}  // namespace ronde::tune
