#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ronde/base/system/clock.h"

namespace ronde::comm {

namespace detail {
class Transport;
}

// How ranks first find each other: everyone gives a blob, everyone gets the blobs of all. Used a few times at the start
// and never for data. One thread at a time.
class Bootstrap {
 public:
  virtual ~Bootstrap() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Gives `mine` to everyone; returns what each rank gave, by rank. All ranks must call it the same number of times.
  // FAILS WITH: PeerLost or Timeout, naming the ranks that did not come, where it can know.
  virtual std::vector<std::string> exchange(const std::string& mine, Deadline until) = 0;

  // How the process of a rank ended ("signal 9 (killed)"), if this bootstrap knows, or learns it in time; else empty.
  // Ends the use of exchange().
  virtual std::string how_ended(int /*rank*/, Deadline /*until*/) { return {}; }

  // What carries data between nodes, where the bootstrap brings it along, as MPI does.
  virtual std::shared_ptr<detail::Transport> transport() { return nullptr; }
};

}  // namespace ronde::comm
