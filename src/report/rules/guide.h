#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ronde/report/advice.h"
#include "ronde/report/communication/scaling.h"

// `ronde report --guide`: the order in which experts tune, where a run stands in it, and the next experiment. Pure.
namespace ronde::report {

// compute         on synthetic input, so that nothing else is in the way
// input           real samples, from storage of the node
// communication   several ranks
// scale           more of them
struct GuideStage {
  enum class State { Done, Here, Later };

  std::string stage = {};  // one of the above
  State state = State::Later;
  std::string text = {};     // what this run shows of it, and what to do
  std::string command = {};  // to paste into a shell; empty: done, or the recipe is not known
};
std::string_view name(GuideStage::State state);  // "done", "here", "later"

// The first stage that has something to mend, or of which this run shows nothing, is where it stands.
// `scaling`: of several runs, one of which this is; null: there is one only.
std::vector<GuideStage> guide_of(const Evidence& evidence, const std::vector<Advice>& advice,
                                 const Scaling* scaling = nullptr);

// Settings by which samples of the same shape are made that cost nothing. None: there is no such input for this data.
std::optional<std::vector<std::pair<std::string, std::string>>> synthetic_input(const JobFacts& facts);

}  // namespace ronde::report
