#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>

#include "ronde/base/system/mutex.h"
#include "ronde/comm/gpu/device_link.h"

namespace ronde::comm::tests {

// Takes NCCL's place between ranks that are threads. What NCCL puts into a stream is done on return here, so that
// members wait for each other in every call: programs that use several groups do so in the same order on all ranks.
class ThreadGpus final : public detail::NcclStandIn {
 public:
  std::string make_id() override;
  std::unique_ptr<detail::DeviceLink> make_link(detail::NcclOptions options) override;

  int calls() const { return calls_; }  // collectives so far, each counted by each member
  int links() const { return links_; }  // that there are
  int aborts() const { return aborts_; }

  // What goes wrong.
  std::atomic<bool> no_names = false;  // there are no communicators to be had
  std::atomic<int> refused = -1;       // this rank cannot connect
  std::atomic<int> fails = -1;         // the calls of this rank fail,
  std::atomic<int> from = 0;           // once there were so many by all

 private:
  class Link;
  struct Meeting;

  Mutex mutex_;
  int ids_ RONDE_GUARDED_BY(mutex_) = 0;
  std::map<std::string, std::weak_ptr<Meeting>> meetings_ RONDE_GUARDED_BY(mutex_);
  std::atomic<int> calls_ = 0, links_ = 0, aborts_ = 0;
};

}  // namespace ronde::comm::tests
