#include "ronde/data/io/parallel.h"

#include <algorithm>

#include "ronde/topology/affinity.h"

namespace ronde::data::detail {

int usable_threads() {
  return std::max(1, static_cast<int>(topology::affinity_of_this_thread().size()));
}

}  // namespace ronde::data::detail
