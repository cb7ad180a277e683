#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "ronde/base/system/clock.h"
#include "ronde/comm/bootstrap.h"
#include "ronde/comm/types.h"

namespace ronde::comm {

// The link without an engine: no names, no votes, no thread of its own. For `ronde bench`, which tells by it what the
// engine adds. One thread at a time.
class BareLink {
 public:
  struct Options {
    int pretend_nodes = 1;        // topology.pretend_nodes
    std::string interfaces = {};  // comm.interface
    bool tcp_only = false;        // comm.between is tcp
    std::string algorithm = {};   // between nodes: gather, doubling, direct, ring or halving; empty: by size and nodes
  };
  // All ranks of the job call it at the same time.
  // FAILS WITH: PeerLost or Timeout, naming the rank that did not come; System.
  BareLink(Bootstrap& bootstrap, const Options& options, Deadline until);
  ~BareLink();

  // Memory that all ranks see. REQUIRES: the link still lives; it is given back with the link.
  // FAILS WITH: System when there is no more.
  std::byte* allocate(std::size_t bytes);

  // Replaces the values by their sum over all ranks; returns when this rank is done.
  // REQUIRES: all ranks call it with as many bytes of one type.
  void allreduce(void* data, std::size_t bytes, DType dtype);

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

// MPI_Allreduce itself, for `ronde bench`. No engine may live meanwhile: both would call MPI.
// FAILS WITH: BadInput when the job was not started by MPI; System.
void mpi_allreduce(float* values, std::size_t count);

}  // namespace ronde::comm
