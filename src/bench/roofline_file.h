#pragma once

#include <filesystem>

#include <nlohmann/json.hpp>

#include "ronde/base/environment.h"
#include "ronde/base/hardware.h"

// What `ronde bench roofline` leaves for `ronde limits`.
namespace ronde::bench {

// Where it lies unless somebody says otherwise: $XDG_CACHE_HOME/ronde/roofline.json, or below ~/.cache. Empty where
// there is no home.
std::filesystem::path default_roofline(const Environment& environment);

nlohmann::ordered_json to_json(const MachineRates& rates);
// FAILS WITH: BadInput, naming what is missing or no sensible number.
MachineRates rates_from_json(const nlohmann::ordered_json& json);

// Makes folders as needed. FAILS WITH: System.
void write_roofline(const MachineRates& rates, const std::filesystem::path& file);
// FAILS WITH: BadInput when there is no such file or it holds something else.
MachineRates read_roofline(const std::filesystem::path& file);

}  // namespace ronde::bench
