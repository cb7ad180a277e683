#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "ronde/base/settings/environment.h"
#include "ronde/comm/mpi/launcher_check.h"

namespace ronde::comm::detail {

// The MPI library that is loaded into this process already, as a file; empty: none is.
std::string loaded_mpi_library();
// Whose binary interface a library has, by the name of its file. Pure.
std::optional<MpiKind> kind_of_file(const std::string& file);

// Which plugin: that of the library that is loaded, of the one that mpi.library names, of the launcher's, in this
// order; otherwise whichever is built. Pure.
std::vector<MpiKind> plugins_to_try(const std::string& loaded, const std::string& wanted, const LaunchedBy& by);
std::string plugin_file(MpiKind kind);  // "ronde-mpi-openmpi.so"

// Where plugins may lie: beside the program, in bin/ beside the Python module, where Ronde was installed or built.
std::vector<std::filesystem::path> plugin_folders();

}  // namespace ronde::comm::detail
