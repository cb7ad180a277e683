#pragma once

#include <chrono>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "ronde/base/system/clock.h"
#include "ronde/comm/link/post.h"
#include "ronde/comm/mpi/mpi_owner.h"

namespace ronde::comm::detail {

// Messages by MPI, which cannot wake anyone: somebody has to look.
class MpiPost final : public Post {
 public:
  explicit MpiPost(MpiOwner& owner) : owner_(owner) {}

  Parcel send(int to, Tag tag, Cargo cargo) override;
  Parcel receive(int from, Tag tag, Cargo cargo) override;
  bool pump() override;
  // For a while also when nothing is under way: MPI may say that a message is sent, and move it only when called again.
  bool must_be_pumped() const override { return !parts_.empty() || monotonic_now() < push_until_; }

 private:
  // What MPI still has its hands on; kept until it lets go, also when nobody waits for it any more.
  struct Part {
    Cargo cargo;
    std::shared_ptr<ParcelState> parcel;
    std::shared_ptr<int> left;  // parts of the message
  };
  template <class Begin>
  Parcel begin(Tag tag, Cargo cargo, Begin begin_part);

  MpiOwner& owner_;
  std::uint64_t next_ = 0;
  std::unordered_map<std::uint64_t, Part> parts_;
  std::vector<std::uint64_t> done_;
  std::chrono::nanoseconds push_until_{0}, next_push_{0};
};

}  // namespace ronde::comm::detail
