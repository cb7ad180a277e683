#pragma once

#include "ronde/comm/request.h"

namespace ronde::comm::detail {

inline constexpr std::size_t kLongestName = 1024;

// What can be known to be wrong with a request without asking anyone. `rank` and `size` are of the group.
// FAILS WITH: BadInput, naming the request.
void validate(const Request& request, int rank, int size);

}  // namespace ronde::comm::detail
