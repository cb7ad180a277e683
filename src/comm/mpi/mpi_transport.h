#pragma once

#include <chrono>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "ronde/base/system/clock.h"
#include "ronde/comm/link/transport.h"
#include "ronde/comm/mpi/mpi_owner.h"

namespace ronde::comm::detail {

// Messages by MPI, which cannot wake anyone: somebody has to look.
class MpiTransport final : public Transport {
 public:
  explicit MpiTransport(MpiOwner& owner) : owner_(owner) {}

  PendingMessage send(int to, Tag tag, SharedBuffer buffer) override;
  PendingMessage receive(int from, Tag tag, SharedBuffer buffer) override;
  bool pump() override;
  // For a while also when nothing is under way: MPI may say that a message is sent, and move it only when called again.
  bool must_be_pumped() const override { return !parts_.empty() || monotonic_now() < push_until_; }

 private:
  // What MPI still has its hands on; kept until it lets go, also when nobody waits for it any more.
  struct Part {
    SharedBuffer buffer;
    std::shared_ptr<MessageState> message;
    std::shared_ptr<int> left;  // parts of the message
  };
  template <class Begin>
  PendingMessage begin(Tag tag, SharedBuffer buffer, Begin begin_part);

  MpiOwner& owner_;
  std::uint64_t next_ = 0;
  std::unordered_map<std::uint64_t, Part> parts_;
  std::vector<std::uint64_t> done_;
  std::chrono::nanoseconds push_until_{0}, next_push_{0};
};

}  // namespace ronde::comm::detail
