#pragma once

#include <memory>
#include <optional>
#include <string>

#include <c10/util/intrusive_ptr.h>

#include "ronde/base/settings/environment.h"
#include "ronde/base/system/clock.h"
#include "ronde/comm/bootstrap.h"

namespace c10d {
class Store;
}  // namespace c10d

// Ranks that torchrun, or a launcher of somebody's own, has started find each other by torch's key-value store.
namespace ronde::parallel {

// Which rank this is, and where the store is.
struct StorePlace {
  int rank = 0, size = 1;
  std::string host;
  int port = 0;
  bool serves = false;  // this rank serves the store, at that port; otherwise it is there, or comes soon
  std::string prefix;   // of all our keys
  friend bool operator==(const StorePlace&, const StorePlace&) = default;
};

// What RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT say, and TORCHELASTIC_* where torchrun has set them: its agent
// serves the store, if it says so, otherwise rank 0 does. Nothing where there is no RANK or no WORLD_SIZE. Pure.
// FAILS WITH: BadInput when there are several ranks and one of the four is missing, or is none.
std::optional<StorePlace> store_place(const Environment& environment);

// Its i-th exchange meets the i-th of every other rank; who destroys it and makes another, as all ranks must, starts
// afresh. The rank that serves goes last: its destructor waits, seconds at most, until all have read what they need.
// FAILS WITH: Timeout, PeerLost or System, naming the store.
std::unique_ptr<comm::Bootstrap> store_bootstrap(const StorePlace& place, Deadline until);

// The same in a store that there is, such as torch.distributed's; of `place`, host and port are not looked at.
// FAILS WITH: PeerLost.
std::unique_ptr<comm::Bootstrap> store_bootstrap(c10::intrusive_ptr<c10d::Store> store, const StorePlace& place);

// The bootstrap for this process, the first of these that has started it: `ronde run` on one machine; torchrun
// (TORCHELASTIC_RUN_ID); mpirun, mpiexec or srun; whoever sets RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT.
// Otherwise a job of one rank.
// FAILS WITH: as store_place, store_bootstrap and comm::bootstrap_from.
std::unique_ptr<comm::Bootstrap> bootstrap_from(const Environment& environment, Deadline until);

}  // namespace ronde::parallel
