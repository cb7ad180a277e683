#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ronde/report/advice.h"
#include "ronde/report/communication/collectives.h"
#include "ronde/report/communication/scaling.h"
#include "ronde/report/compute/bottlenecks.h"
#include "ronde/report/compute/devices.h"
#include "ronde/report/compute/efficiency.h"
#include "ronde/report/compute/layer_roofline.h"
#include "ronde/report/input/input_limit.h"
#include "ronde/report/rules/guide.h"
#include "ronde/report/run/job_facts.h"
#include "ronde/report/run/profile.h"
#include "ronde/report/run/window.h"
#include "ronde/report/steps/operators.h"
#include "ronde/report/steps/phases.h"
#include "ronde/report/steps/steps.h"
#include "ronde/report/steps/timeline.h"

namespace ronde::report {

// All that `ronde report` tells about runs. What shows it (text/, page/, json/) reads nothing else. None: the traces do
// not contain it.
struct Report {
  std::string source = {};
  Verdict verdict = {};
  std::vector<std::string> problems = {};  // sentences: damaged files, missing ranks, what was left out
  JobFacts job = {};
  int ranks = 0;  // of the job
  Window window = {};
  Efficiency efficiency = {};
  Factor tree = {};                        // efficiency.parallel, with the factors above it
  std::optional<Factor> device_tree = {};  // efficiency.device, with the factor above it
  std::vector<DeviceUse> devices = {};
  StepTable steps = {};
  Phases phases = {};
  Profile profile = {};
  std::vector<OperatorTime> operators = {};
  std::optional<Comparison> compare = {};  // of two runs with as many ranks
  std::optional<InputLimit> input = {};
  Collectives collectives = {};
  std::vector<Bottleneck> bottlenecks = {};
  std::optional<LayerRoofline> roofline = {};
  std::optional<Scaling> scaling = {};  // of runs with different numbers of ranks
  std::vector<GuideStage> guide = {};
  std::vector<Advice> advice = {};
  std::optional<Timeline> timeline = {};  // if the options ask for it
};

}  // namespace ronde::report
