#pragma once

#include <cstddef>

namespace ronde::device {

struct MemoryUse {
  std::size_t total_bytes = 0;
  std::size_t free_bytes = 0;  // now, whoever uses the rest; asking opens the GPU and takes some of it
};

// FAILS WITH: BadInput when there is no GPU of that number, System.
MemoryUse memory_use(int device);

}  // namespace ronde::device
