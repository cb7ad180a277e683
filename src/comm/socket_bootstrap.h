#pragma once

#include <memory>
#include <string>

#include "ronde/base/settings/environment.h"
#include "ronde/base/system/clock.h"
#include "ronde/comm/bootstrap.h"

// The bootstrap of `ronde run` on one machine: the launcher serves, ranks connect over a Unix domain socket. Its name
// is random and lies in the abstract namespace, so that nothing is left in the file system, whatever dies.
namespace ronde::comm {

// What tells a rank that `ronde run` has started it.
inline constexpr const char* kBootstrapVariable = "RONDE__BOOTSTRAP";  // the server's address
inline constexpr const char* kRankVariable = "RONDE__RANK";
inline constexpr const char* kSizeVariable = "RONDE__SIZE";
inline constexpr const char* kEngineCpusVariable = "RONDE__ENGINE_CPUS";  // kept for the engine's thread

// Serves one job from a thread of its own, until it is destroyed. Only processes of our own user get in; one that
// talks nonsense is thrown out, and the others do not notice.
//
//   SocketBootstrapServer server(4);
//   ... start ranks with RONDE__BOOTSTRAP=server.address() ...
//   server.rank_ended(1, "signal 9 (killed)");
//
// Safe to call from any thread.
class SocketBootstrapServer {
 public:
  // REQUIRES: size > 0.
  // FAILS WITH: System.
  explicit SocketBootstrapServer(int size);
  ~SocketBootstrapServer();

  const std::string& address() const;

  // The process of this rank is gone: exchanges that wait for it fail at once and say how it ended.
  void rank_ended(int rank, std::string how);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// Connects as one rank of a job. Its i-th exchange meets the i-th of every other rank; the server counts, so a rank
// that destroys its Bootstrap and connects again goes on where it stopped. A blob may have 1 MiB.
// FAILS WITH: BadInput for an address that is none, System when nobody serves there or the server refuses (another
// process is connected as this rank, or the sizes differ), Timeout.
std::unique_ptr<Bootstrap> connect_bootstrap(const std::string& address, int rank, int size, Deadline until);

// The bootstrap for this process: under `ronde run` on one machine the socket; where mpirun, mpiexec or srun started
// it, or the program has started MPI, MPI; otherwise a job of one rank. FAILS WITH: BadInput when only some of the
// variables are there or one is no number; as connect_bootstrap, as mpi_bootstrap.
std::unique_ptr<Bootstrap> bootstrap_from(const Environment& environment, Deadline until);

}  // namespace ronde::comm
