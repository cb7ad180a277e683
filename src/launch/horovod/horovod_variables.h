#pragma once

#include <string>
#include <vector>

#include "ronde/base/settings/environment.h"
#include "ronde/base/settings/settings.h"

// Variables that tune Horovod, put into our settings. Pure.
namespace ronde::launch {

struct HorovodSettings {
  std::vector<Settings::Flag> settings;  // origin: the variable's name
  std::vector<std::string> notes;        // on those that change nothing here: one sentence each
};

// What the HOROVOD_* variables of an environment stand for. Where the RONDE_* variable of a setting is there too, that
// one counts. Variables that a launcher sets (HOROVOD_RANK) and those for Horovod's build are passed over; one that is
// empty counts as not set; one that Horovod does not have is noted. Hand them to Settings::load as the first flags:
//
//   const auto horovod = horovod_settings(environment);
//   const auto settings = Settings::load(environment, horovod.settings);
//
// FAILS WITH: BadInput, naming the variable, for a value that is none.
HorovodSettings horovod_settings(const Environment& environment);

}  // namespace ronde::launch
