#pragma once

#include <span>
#include <string>
#include <vector>

#include "ronde/base/settings/settings.h"

namespace ronde {

// The command line of a program that takes settings and little else.
struct Arguments {
  std::vector<Settings::Flag> flags = {};  // "--train-epochs 3", "--train-epochs=3", "--set train.epochs=3"
  std::vector<std::string> words = {};     // whatever else
};

// `arguments`: without the name of the program. FAILS WITH: BadInput for a flag that is no setting (suggesting the
// nearest), or one without a value; a wrong value is for Settings::load() to find. Pure.
Arguments read_arguments(std::span<const char* const> arguments);

}  // namespace ronde
