#pragma once

#include <string>
#include <vector>

#include "ronde/base/settings/environment.h"

namespace ronde::launch {

// A container image that ranks run in. Empty image: none.
struct Container {
  std::string image = {};               // a file, or what else apptainer takes (docker://...)
  std::vector<std::string> binds = {};  // the user's own: A, A:B or A:B:ro
};

// What decides how a command is put into a container.
struct ContainerSituation {
  std::string runtime = {};               // apptainer or singularity: where it lies
  bool gpu = false;                       // this machine has one
  std::string folder = {};                // the working directory
  std::vector<std::string> folders = {};  // more that the command needs: where traces go, where its program lies
};

// "apptainer exec [--nv] --bind ... --pwd FOLDER IMAGE COMMAND...". Home and /tmp are there by apptainer's own doing;
// /dev/shm is bound for shared memory between ranks. Pure.
// FAILS WITH: BadInput for a bind that is none.
std::vector<std::string> container_command(const Container& container, const ContainerSituation& situation,
                                           const std::vector<std::string>& command);

// The same on this machine, asking it for what must be known. Returns the command itself where there is no container.
// FAILS WITH: BadInput when there is neither apptainer nor singularity, or no such image.
std::vector<std::string> in_container(const Container& container, const std::vector<std::string>& command, bool gpu,
                                      const Environment& environment);

}  // namespace ronde::launch
