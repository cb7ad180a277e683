#pragma once

#include <string>
#include <vector>

#include "ronde/topology/binding.h"

namespace ronde::topology::detail {

// What the user should know about a plan, one sentence each; nothing when all is as one would expect.
std::vector<std::string> warnings_about(const Machine& machine, const BindingRequest& request, const BindingPlan& plan);

}  // namespace ronde::topology::detail
