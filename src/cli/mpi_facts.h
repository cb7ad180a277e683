#pragma once

#include <string>

namespace ronde::cli {

// What an MPI library says about itself: "Open MPI v4.1.4". It is loaded, not started.
// FAILS WITH: BadInput when it cannot be loaded or is no MPI library.
std::string mpi_library_version(const std::string& file);

}  // namespace ronde::cli
