#pragma once

#include <cstddef>
#include <functional>

#include <nlohmann/json.hpp>

#include "ronde/report/compute/devices.h"
#include "ronde/report/compute/efficiency.h"
#include "ronde/report/run/job_facts.h"
#include "ronde/report/run/window.h"
#include "ronde/report/steps/steps.h"

// Parts of the document that `ronde report --json` prints. docs/report.md lists its keys.
namespace ronde::report {

nlohmann::ordered_json to_json(const Factor& factor);
nlohmann::ordered_json to_json(const Efficiency& efficiency, const trace::Run& run);
nlohmann::ordered_json to_json(const std::vector<DeviceUse>& devices);
// Many steps are put together, and of many ranks some have their steps (step_bins.h): at most 2 MB of text. "left_out"
// tells.
nlohmann::ordered_json to_json(const StepTable& steps);
// The same where `shares` knows what RankSteps::steps would hold, by the places of rank and step in the table.
nlohmann::ordered_json to_json(const StepTable& steps,
                               const std::function<Shares(std::size_t rank, std::size_t step)>& shares);
nlohmann::ordered_json to_json(const JobFacts& facts, const trace::Run& run);
nlohmann::ordered_json to_json(const Window& window);

}  // namespace ronde::report
