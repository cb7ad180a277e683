#pragma once

#include <nlohmann/json_fwd.hpp>

#include "ronde/topology/binding.h"
#include "ronde/topology/machine.h"

// The same data for programs. Absent values are null; sets of cpus are strings such as "0-3,8".
// (Read nlohmann/json.hpp before using the result.)
namespace ronde::topology {

nlohmann::json to_json(const Machine& machine);
nlohmann::json to_json(const BindingPlan& plan);

}  // namespace ronde::topology
