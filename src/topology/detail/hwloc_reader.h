#pragma once

#include <hwloc.h>

#include "ronde/topology/machine.h"

namespace ronde::topology::detail {

// hwloc's tree as our plain data. Pure: looks at nothing but `topology`.
Machine read_machine(hwloc_topology_t topology);

}  // namespace ronde::topology::detail
