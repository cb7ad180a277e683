#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ronde/base/error.h"
#include "ronde/base/log.h"
#include "ronde/comm/execute/execute.h"
#include "ronde/comm/gpu/device_link.h"
#include "ronde/comm/group.h"
#include "ronde/device/memory.h"
#include "ronde/device/stream.h"

namespace ronde::comm::detail {

// What a group needs for it.
struct NcclPathOptions {
  std::string host;                   // of this rank,
  int rank = 0;                       // in the job
  int local_rank = 0;                 // on its node
  std::chrono::nanoseconds deadline;  // for members to connect
  std::chrono::nanoseconds stuck{0};  // comm.stall_abort; zero: never
  std::shared_ptr<NcclStandIn> stand_in = nullptr;
  Log log = Log();
};

// How buffers of GPUs travel in one group where NCCL can connect its members: put into a stream of high priority, after
// what makes them. Nobody waits on the host: a request is done when the stream has it, and the program's stream waits
// for the event behind it.
//
// For whoever carries the engine's work.
class NcclPath {
 public:
  explicit NcclPath(NcclPathOptions options) : options_(std::move(options)) {}
  ~NcclPath();
  NcclPath(const NcclPath&) = delete;
  NcclPath& operator=(const NcclPath&) = delete;

  // Which requests are for it: all members say the same, since they agree on the description.
  bool takes(const Description& description) const;
  // Members find out whether NCCL connects them, and connect. Once, before anything else; all of them do it.
  Task open(Link& link, int gpu);
  bool opened() const { return opened_; }
  bool connected() const { return data_ != nullptr && !connecting_; }
  // Empty: it carries what comes. Otherwise one sentence.
  std::string why_not() const;
  // It waits for something that wakes nobody.
  bool polls() const { return connecting_; }

  // REQUIRES: connected(), takes().
  Task run(Link& link, std::vector<Work> works, bool fused, Scratch& scratch);
  // Group's functions of almost these names. REQUIRES: connected().
  void reserve(const std::vector<InStream>& all);
  void allreduce_now(const InStream& what, const device::Event& made, device::Event& done);
  void launched(const device::Stream& stream);
  bool busy();  // streams are still at it
  // FAILS WITH: System, in NCCL's words; Timeout when something has been under way for too long.
  void watch(std::chrono::nanoseconds now);
  // Its streams must be looked at now and then: where steps are recorded, NCCL may also fail between launches.
  bool must_be_watched() const { return data_ && (!held_.empty() || !registered_.empty() || left_at_.count() > 0); }
  // A member has gone: what is under way may not end. Who has left by itself takes its part in the end of the link.
  void member_left(std::chrono::nanoseconds now, bool by_itself);
  // Nobody goes on with what open() was at.
  void forget_connecting();
  // Waits for what is under way, for a while, and gives it up then.
  void stop();

 private:
  struct Held {  // memory that a stream uses
    device::Event done;
    std::chrono::nanoseconds since;
    std::vector<std::shared_ptr<const void>> keeps = {};
    bool step = false;  // a launched one
  };
  std::string my_word(int gpu);
  void follow(const Ticket& ticket) const;
  Task connect(Link& link, const std::vector<GpuPlace>& places);
  Task reduce_fused(std::vector<Work> works);
  void allreduce(std::span<const DeviceLink::Piece> pieces, DType dtype, ReduceOp op);
  void hold(const std::vector<Work>& works, std::shared_ptr<const void> more = nullptr);
  void give_up(const Error& why);

  const NcclPathOptions options_;
  int gpu_ = device::kHost;
  bool opened_ = false, connecting_ = false;
  std::chrono::nanoseconds left_at_{0};   // when the first member went; zero: none has
  bool died_ = false;                     // some member has, without a word
  std::chrono::nanoseconds moved_at_{0};  // when streams were last seen to have got further
  std::string host_reason_;               // why it goes through the host instead
  std::string why_given_up_;              // the first cause, once there was a link
  device::Stream stream_;
  std::deque<Held> held_;
  std::vector<std::span<std::byte>> registered_;  // by InStream::number
  std::unique_ptr<DeviceLink> data_;              // after the stream: it is taken down before
  std::unique_ptr<DeviceLink> given_up_;          // its end waits for graphs that the program may still hold
};

}  // namespace ronde::comm::detail
