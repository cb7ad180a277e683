#pragma once

#include <cstdint>

namespace ronde::comm::support {

// Lets this process have as many open files and sockets as it may: the soft limit, often 1024, becomes the hard one. A
// connection to each rank of a large job needs more. Gives the limit that holds now.
std::uint64_t raise_descriptor_limit();

}  // namespace ronde::comm::support
