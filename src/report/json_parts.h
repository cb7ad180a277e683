#pragma once

#include <nlohmann/json.hpp>

#include "ronde/report/devices.h"
#include "ronde/report/efficiency.h"
#include "ronde/report/job_facts.h"
#include "ronde/report/steps.h"
#include "ronde/report/window.h"

// Parts of the document that `ronde report --json` prints. docs/report.md lists its keys.
namespace ronde::report {

nlohmann::ordered_json to_json(const Factor& factor);
nlohmann::ordered_json to_json(const Efficiency& efficiency, const trace::Run& run);
nlohmann::ordered_json to_json(const std::vector<DeviceUse>& devices);
nlohmann::ordered_json to_json(const StepTable& steps);
nlohmann::ordered_json to_json(const JobFacts& facts, const trace::Run& run);
nlohmann::ordered_json to_json(const Window& window);

}  // namespace ronde::report
