#pragma once

#include <string>

namespace ronde {
class Settings;
}

namespace ronde::cli {

// The library that the user names (mpi.library), or the one that was there when this program was built; empty: none.
std::string mpi_file(const Settings& settings);

// What an MPI library says about itself: "Open MPI v4.1.4". It is loaded, not started.
// FAILS WITH: BadInput when it cannot be loaded or is no MPI library.
std::string mpi_library_version(const std::string& file);

}  // namespace ronde::cli
