#include "ronde/launch/place/place.h"

#include "ronde/base/error.h"
#include "ronde/topology/affinity.h"

namespace ronde::launch {

Placed::Placed(const topology::RankBinding& binding) : before_(topology::affinity_of_this_thread()) {
  topology::bind_this_thread(binding.cpus);
  memory_ = binding.numa.size() == 1 && topology::memory_is_left_to_the_kernel() &&
            topology::prefer_memory_of(binding.numa.front());
}

Placed::~Placed() {
  if (memory_) topology::prefer_no_memory();
  try {
    topology::bind_this_thread(before_);
  } catch (const Error&) {  // the administrator has taken cpus away meanwhile: we run where we may
  }
}

}  // namespace ronde::launch
