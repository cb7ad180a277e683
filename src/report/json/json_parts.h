#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include <nlohmann/json.hpp>

#include "ronde/report/report.h"

// The parts of to_json(const Report&). Numbers that are not known are null.
namespace ronde::report {

nlohmann::ordered_json to_json(const Factor& factor);
nlohmann::ordered_json to_json(const std::vector<DeviceUse>& devices);
// Many steps are put together, and of many ranks some have their steps (step_bins.h): at most 2 MB of text. "left_out"
// tells.
nlohmann::ordered_json to_json(const StepTable& steps);
// The same where `shares` knows what RankSteps::steps would hold, by the places of rank and step in the table.
nlohmann::ordered_json to_json(const StepTable& steps,
                               const std::function<Shares(std::size_t rank, std::size_t step)>& shares);
nlohmann::ordered_json to_json(const std::vector<Phase>& phases);
nlohmann::ordered_json to_json(const Sequential& sequential);
// "per_rank" is empty where there are more than 64 ranks.
nlohmann::ordered_json to_json(const Profile& profile);
nlohmann::ordered_json to_json(const Comparison& comparison);
nlohmann::ordered_json to_json(const std::vector<OperatorTime>& operators);
nlohmann::ordered_json to_json(const InputLimit& input);
nlohmann::ordered_json to_json(const Collectives& collectives);
nlohmann::ordered_json to_json(const std::vector<Bottleneck>& bottlenecks);
nlohmann::ordered_json to_json(const LayerRoofline& roofline);
nlohmann::ordered_json to_json(const Scaling& scaling);
nlohmann::ordered_json to_json(const std::vector<GuideStage>& guide);
nlohmann::ordered_json to_json(const std::vector<Advice>& advice);
// Times are seconds since the window's begin.
nlohmann::ordered_json to_json(const Timeline& timeline, const Window& window);

}  // namespace ronde::report
