#pragma once

#include <memory>

#include "ronde/base/settings/environment.h"
#include "ronde/base/system/clock.h"
#include "ronde/comm/bootstrap.h"

// Ranks that find each other by MPI: started by mpirun, mpiexec or srun, or by a program that has started MPI itself.
namespace ronde::comm {

// Has a launcher of MPI jobs started this process, or has the program started MPI?
bool runs_under_mpi(const Environment& environment);

// Starts MPI if the program has not (with MPI_THREAD_SERIALIZED), or works in a duplicate of the program's world.
// Its i-th exchange meets the i-th of every other rank. It brings MPI along as what carries data between nodes.
// FAILS WITH: BadInput when launcher and MPI library do not belong together (both are named), when no plugin fits, or
// when the program has asked MPI for too few threads; Timeout when not all ranks come; System. When MPI_Init itself
// takes longer, which nothing can interrupt, the process says so and ends with code 1.
std::unique_ptr<Bootstrap> mpi_bootstrap(const Environment& environment, Deadline until = {});

}  // namespace ronde::comm
