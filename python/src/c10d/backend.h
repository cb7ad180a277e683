#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "collectives.h"
#include "job.h"

namespace ronde::python::c10d_backend {

// A process group of torch.distributed on a group of the engine. torch calls it without Python's lock.
class Backend final : public ::c10d::Backend {
 public:
  // No `made`: the world.
  Backend(std::shared_ptr<Job> job, std::optional<Job::Made> made, const Place& place,
          std::chrono::milliseconds timeout);
  ~Backend() override;

  // What torch knows a call by. A base class's names for types are in scope here.
  using Calls = c10::intrusive_ptr<::c10d::Work>;
  using Lists = std::vector<std::vector<at::Tensor>>;

  const std::string getBackendName() const override { return "ronde"; }
  c10::intrusive_ptr<Options> getBackendOptions() override;
  void setTimeout(std::chrono::milliseconds timeout) override { timeout_ = timeout; }

  Calls broadcast(Tensors& tensors, const ::c10d::BroadcastOptions& options) override;
  Calls allreduce(Tensors& tensors, const ::c10d::AllreduceOptions& options) override;
  Calls allreduce_sparse(Tensors& tensors, const ::c10d::AllreduceOptions& options) override;
  Calls allreduce_coalesced(Tensors& tensors, const ::c10d::AllreduceCoalescedOptions& options) override;
  Calls reduce(Tensors& tensors, const ::c10d::ReduceOptions& options) override;
  Calls allgather(Lists& outputs, Tensors& inputs, const ::c10d::AllgatherOptions& options) override;
  Calls _allgather_base(at::Tensor& output, at::Tensor& input, const ::c10d::AllgatherOptions& options) override;
  Calls allgather_coalesced(Lists& outputs, Tensors& inputs, const ::c10d::AllgatherOptions& options) override;
  Calls allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                        const ::c10d::AllgatherOptions& options) override;
  Calls gather(Lists& outputs, Tensors& inputs, const ::c10d::GatherOptions& options) override;
  Calls scatter(Tensors& outputs, Lists& inputs, const ::c10d::ScatterOptions& options) override;
  Calls reduce_scatter(Tensors& outputs, Lists& inputs, const ::c10d::ReduceScatterOptions& options) override;
  Calls _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                             const ::c10d::ReduceScatterOptions& options) override;
  Calls reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                        const ::c10d::ReduceScatterOptions& options) override;
  Calls alltoall_base(at::Tensor& output, at::Tensor& input, std::vector<std::int64_t>& output_splits,
                      std::vector<std::int64_t>& input_splits, const ::c10d::AllToAllOptions& options) override;
  Calls alltoall(Tensors& outputs, Tensors& inputs, const ::c10d::AllToAllOptions& options) override;
  Calls send(Tensors& tensors, int to, int tag) override;
  Calls recv(Tensors& tensors, int from, int tag) override;
  Calls recvAnysource(Tensors& tensors, int tag) override;
  Calls barrier(const ::c10d::BarrierOptions& options) override;
  void monitoredBarrier(const ::c10d::BarrierOptions& options, bool wait_for_all) override;

  bool supportsCoalescing() const override { return true; }
  void startCoalescing() override;
  Calls endCoalescing() override;

  void setSequenceNumberForGroup() override {}
  std::uint64_t getSequenceNumberForGroup() override { return sequence_; }

  void shutdown() override;
  void abort() override;

 private:
  struct Call {
    ::c10d::OpType type;
    const char* title;
    std::chrono::milliseconds timeout;
  };
  // Makes what `transfer` returns into a call on its way; between start and end of coalescing it only remembers it.
  Calls start(const Call& call, const std::function<Transfer()>& transfer);
  Calls submit(const Call& call, Transfer transfer);
  std::string name_of(int tag, int peer, bool outgoing);

  const std::shared_ptr<Job> job_;
  const std::optional<Job::Made> made_;
  const Place place_;
  const comm::Group group_;
  std::atomic<std::chrono::milliseconds> timeout_;
  std::atomic<std::uint64_t> sequence_ = 0;
  std::uint64_t monitored_ = 0;  // barriers
  bool left_ = false;
  std::optional<Transfer> coalesced_;
  Mutex tags_mutex_;
  // How many messages, by tag, peer and direction.
  std::map<std::tuple<int, int, bool>, std::uint64_t> tags_ RONDE_GUARDED_BY(tags_mutex_);
};

}  // namespace ronde::python::c10d_backend
