#pragma once

#include <optional>
#include <string>

#include "ronde/base/settings/environment.h"

// What the environment says about the launcher that started this process. All pure.
namespace ronde::comm::detail {

enum class MpiKind { OpenMpi, Mpich };  // and those with their binary interface

// So many ranks, if a launcher of MPI jobs has started this process; and in whose words.
struct LaunchedBy {
  int ranks = 0;  // 0: nobody did
  std::string launcher = {};
  std::optional<MpiKind> kind = {};  // whose launcher it is; none: Slurm's, without a word about MPI
};
LaunchedBy launched_by(const Environment& environment);

MpiKind kind_of(const std::string& library_version);

// Why MPI must not be started here: some libraries end the process instead of returning an error. Empty: it may.
std::string trouble_before_start(const Environment& environment, const std::string& library,
                                 const std::string& version);
// Why the world that MPI has found cannot be right. Empty: it may be.
std::string trouble_with_world(const Environment& environment, int world, const std::string& library,
                               const std::string& version);

}  // namespace ronde::comm::detail
