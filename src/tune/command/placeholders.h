#pragma once

#include <string>
#include <vector>

#include "ronde/tune/space/space.h"

// How the values of a trial get into the words of a command: {lr} and {model/width} (or {model.width}) stand for the
// configuration's values, {trial_id} and {trial_dir} for the trial's number and folder. {{lr}} is "{lr}" itself, and
// braces around anything but a name stay as they are. All pure.
namespace ronde::tune {

struct TrialWords {
  Json config = Json::object();
  std::string id, folder;
};

// FAILS WITH: BadInput for a name that the configuration has not, with the nearest that it has.
std::vector<std::string> fill_placeholders(const std::vector<std::string>& words, const TrialWords& trial);

// Tells before anything runs whether the words name what there will be. Spaces whose parameters depend on choices are
// left for the trials to find out. FAILS WITH: BadInput as fill_placeholders().
void check_placeholders(const std::vector<std::string>& words, const Space& space);

}  // namespace ronde::tune
