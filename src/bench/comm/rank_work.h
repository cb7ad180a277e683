#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "ronde/bench/detail/command.h"
#include "ronde/comm/bench/link_bench.h"
#include "ronde/comm/engine.h"
#include "ronde/device/memory.h"

namespace ronde::bench::detail {

// What one rank does for `ronde bench allreduce`. Command::what:
//   heap, shared             a blocking allreduce by name, in ordinary memory or in the engine's
//   link-heap, link-shared   the same by the link alone
//   copy                     a plain copy on rank 0, while the others rest
//   gpu, gpu-copy            the same as heap and copy, in memory of GPUs
class RankWork {
 public:
  RankWork(comm::Engine& engine, comm::BareLink& link) : engine_(engine), link_(link) {}

  // Of a round. FAILS WITH: Bug when a sum is wrong; as the engine.
  Timing time(const Command& command);

 private:
  using Reduce = std::function<void()>;

  std::byte* heap(std::size_t bytes);
  std::byte* shared(std::size_t bytes);
  std::byte* link_shared(std::size_t bytes);
  Timing time_engine(const Command& command, std::byte* memory);
  Timing time_link(const Command& command, std::byte* memory);
  Timing time_copy(const Command& command);
  Timing time_gpu(const Command& command);
  Timing time_gpu_copy(const Command& command);

  comm::Engine& engine_;
  comm::BareLink& link_;
  std::vector<std::byte> heap_, copy_;
  comm::SharedMemory shared_;
  std::byte* link_shared_ = nullptr;
  std::size_t link_shared_bytes_ = 0;
  device::DeviceBuffer gpu_, gpu_copy_;
};

// FAILS WITH: BadInput for a type that the benchmark does not know.
comm::DType parse_dtype(const std::string& name);

// Writes, or reads, the value at a place in memory of a type that parse_dtype() knows.
void put(std::byte* at, comm::DType dtype, float value);
float get(const std::byte* at, comm::DType dtype);

}  // namespace ronde::bench::detail
