#pragma once

#include <memory>

#include "ronde/comm/request.h"

namespace ronde::comm {

namespace detail {
class Ticket;
}

// A request on its way. Copies stand for the same request. It may be dropped before it is ready; the request then goes
// on, so its memory must stay. Safe to call from any thread. It may outlive the engine; but no thread may be inside
// wait() or poll() while the engine is destroyed. Engine::shutdown() ends all waits, and may come before.
class Handle {
 public:
  Handle() = default;  // stands for nothing

  // Waits until it is done; the caller's thread does the work where it can.
  // FAILS WITH: Mismatch (members asked for different things), PeerLost (a member died or left), Timeout
  // (comm.stall_abort), BadInput (the output does not fit), naming tensor, ranks and first cause; each time it is
  // called.
  const Result& wait() const;
  // The same, for a program that goes on with a GPU's buffers in another stream than that of the request.
  const Result& wait(CUstream_st* stream) const;

  // Whether wait() would return, or throw, at once. Starts what waits for more requests, as wait() does.
  bool poll() const;

  explicit operator bool() const { return ticket_ != nullptr; }

 private:
  friend class Group;
  explicit Handle(std::shared_ptr<detail::Ticket> ticket) : ticket_(std::move(ticket)) {}

  std::shared_ptr<detail::Ticket> ticket_;
};

}  // namespace ronde::comm
