#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "ronde/base/settings/environment.h"
#include "ronde/base/system/hardware.h"

// Measured rates of a machine as files: what `ronde bench roofline` writes for `ronde limits` and `ronde report`, and
// what a traced training measures once and keeps. Any thread may call these.
namespace ronde {

// Where `ronde bench roofline` writes unless the user says otherwise: roofline.json in the cache folder
// (XDG_CACHE_HOME/ronde or ~/.cache/ronde). Empty where there is no home.
std::filesystem::path default_roofline(const Environment& environment);

// Where the rates are kept that a training measured, in that folder: one file per key, a text that names hardware and
// libraries. Empty where there is no home.
std::filesystem::path kept_rates(const Environment& environment, std::string_view key);

nlohmann::ordered_json rates_to_json(const MachineRates& rates);
// FAILS WITH: BadInput, naming what is missing or is not a valid number.
MachineRates rates_from_json(const nlohmann::ordered_json& json);

// Makes folders as needed; the file is whole or the one before. FAILS WITH: System.
void write_rates(const MachineRates& rates, const std::filesystem::path& file, std::string_view key = {});
// FAILS WITH: BadInput when there is no such file or it holds something else.
MachineRates read_rates(const std::filesystem::path& file);
// The rates that were kept under this key. Nothing: none, a file that cannot be read, or one with another key.
std::optional<MachineRates> find_rates(const std::filesystem::path& file, std::string_view key);

}  // namespace ronde
