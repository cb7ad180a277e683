#pragma once

#include <functional>
#include <vector>

namespace ronde::comm::detail {

// What a bootstrap may be besides, that has something which ends with the process only, for all ranks together: MPI.
class ProcessEnd {
 public:
  virtual ~ProcessEnd() = default;

  // Before that ends, when the process exits, `leave` is called: an engine that is still alive must let go of it.
  // `pids` of other ranks on this machine: once one of them has ended, nobody waits long for all to come to their end.
  // Returns what to forget it by; forget() waits while `leave` runs elsewhere.
  virtual int before_end(std::vector<int> pids, std::function<void()> leave) = 0;
  virtual void forget(int number) = 0;
  // A rank was lost: as above.
  virtual void note_loss() = 0;
};

}  // namespace ronde::comm::detail
