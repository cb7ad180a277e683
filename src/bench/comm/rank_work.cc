#include "ronde/bench/comm/rank_work.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "ronde/base/error.h"

namespace ronde::bench::detail {
namespace {

// The first and the last value are 1 on every rank for one round, outside the time: so every turn checks a sum. All
// others are zero in all rounds, for a sum of sums soon overflows.
template <class Reduce>
void check_sum(const Command& command, int ranks, std::byte* memory, Reduce reduce) {
  const comm::DType dtype = parse_dtype(command.dtype);
  std::byte* const last = memory + command.bytes - comm::size_of(dtype);
  for (std::byte* at : {memory, last}) put(at, dtype, 1.0F);
  reduce();
  const auto right = static_cast<float>(ranks);
  if (get(memory, dtype) != right || get(last, dtype) != right)
    throw Error(Error::Kind::Bug,
                fmt::format("{} of {} bytes of {}: wrong sum of {} ones: got {} and {}", command.what, command.bytes,
                            command.dtype, ranks, get(memory, dtype), get(last, dtype)));
  for (std::byte* at : {memory, last}) put(at, dtype, 0.0F);
}

}  // namespace

comm::DType parse_dtype(const std::string& name) {
  for (const comm::DType dtype : {comm::DType::F32, comm::DType::BF16})
    if (name == comm::name(dtype)) return dtype;
  throw Error::bad_input("benchmarks support f32 and bf16, got '{}'", name);
}

// bf16 is the upper half of f32; the values here need no rounding.
void put(std::byte* at, comm::DType dtype, float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto upper = static_cast<std::uint16_t>(bits >> 16);
  dtype == comm::DType::F32 ? std::memcpy(at, &bits, sizeof bits) : std::memcpy(at, &upper, sizeof upper);
}

float get(const std::byte* at, comm::DType dtype) {
  std::uint32_t bits = 0;
  std::uint16_t upper = 0;
  if (dtype == comm::DType::F32) {
    std::memcpy(&bits, at, sizeof bits);
  } else {
    std::memcpy(&upper, at, sizeof upper);
    bits = static_cast<std::uint32_t>(upper) << 16;
  }
  return std::bit_cast<float>(bits);
}

Timing RankWork::time(const Command& command) {
  if (command.what == "heap") return time_engine(command, heap(command.bytes));
  if (command.what == "shared") return time_engine(command, shared(command.bytes));
  if (command.what == "link-heap") return time_link(command, heap(command.bytes));
  if (command.what == "link-shared") return time_link(command, link_shared(command.bytes));
  if (command.what == "copy") return time_copy(command);
  if (command.what == "gpu") return time_gpu(command);
  if (command.what == "gpu-copy") return time_gpu_copy(command);
  throw Error::bad_input("a rank of 'ronde bench allreduce' cannot time '{}'", command.what);
}

std::byte* RankWork::heap(std::size_t bytes) {
  if (heap_.size() < bytes) heap_ = std::vector<std::byte>(bytes);
  return heap_.data();
}

std::byte* RankWork::shared(std::size_t bytes) {
  if (shared_.size() < bytes) shared_ = engine_.allocate(bytes);
  return shared_.data();
}

std::byte* RankWork::link_shared(std::size_t bytes) {
  if (link_shared_bytes_ < bytes) link_shared_ = link_.allocate(link_shared_bytes_ = bytes);
  return link_shared_;
}

Timing RankWork::time_engine(const Command& command, std::byte* memory) {
  const comm::DType dtype = parse_dtype(command.dtype);
  const comm::Group world = engine_.world();
  const std::string name = command.what + "." + command.dtype + "." + std::to_string(command.bytes);
  const comm::Buffer buffer{
      .data = memory, .dtype = dtype, .shape = {static_cast<std::int64_t>(command.bytes / comm::size_of(dtype))}};
  const auto reduce = [&] { world.run({.name = name, .input = buffer}); };
  check_sum(command, engine_.size(), memory, reduce);
  return time_each_round(command, reduce);
}

Timing RankWork::time_link(const Command& command, std::byte* memory) {
  const comm::DType dtype = parse_dtype(command.dtype);
  const auto reduce = [&] { link_.allreduce(memory, command.bytes, dtype); };
  check_sum(command, engine_.size(), memory, reduce);
  return time_each_round(command, reduce);
}

Timing RankWork::time_copy(const Command& command) {
  if (engine_.rank() != 0) return 0.0;
  const std::byte* const from = heap(command.bytes);
  if (copy_.size() < command.bytes) copy_ = std::vector<std::byte>(command.bytes);
  return time_rounds(command, [&] {
    std::memcpy(copy_.data(), from, command.bytes);
    asm volatile("" : : "r"(copy_.data()) : "memory");  // nobody reads the copy, and yet it must be made
  });
}

// The sum is checked on the host, by copies outside the time.
Timing RankWork::time_gpu(const Command& command) {
  const int gpu = engine_.local_rank() % device::count();
  const comm::DType dtype = parse_dtype(command.dtype);
  if (gpu_.size() < command.bytes) gpu_ = device::DeviceBuffer(gpu, command.bytes);
  const device::Stream stream = device::Stream::borrow(gpu, nullptr);
  const comm::Buffer buffer{.data = gpu_.data(),
                            .dtype = dtype,
                            .shape = {static_cast<std::int64_t>(command.bytes / comm::size_of(dtype))},
                            .device = gpu};
  const std::string name = "gpu." + command.dtype + "." + std::to_string(command.bytes);
  const auto reduce = [&] {
    engine_.world().run({.name = name, .input = buffer});
    stream.synchronize();
  };
  std::byte* const memory = heap(command.bytes);
  std::fill_n(memory, command.bytes, std::byte{0});
  check_sum(command, engine_.size(), memory, [&] {
    device::copy_async(gpu_.data(), memory, command.bytes, stream);
    reduce();
    device::copy_async(memory, gpu_.data(), command.bytes, stream);
    stream.synchronize();
  });
  device::clear_async(gpu_.data(), command.bytes, stream);
  return time_each_round(command, reduce);
}

Timing RankWork::time_gpu_copy(const Command& command) {
  if (engine_.rank() != 0) return 0.0;
  if (gpu_copy_.size() < command.bytes) gpu_copy_ = device::DeviceBuffer(gpu_.device(), command.bytes);
  const device::Stream stream = device::Stream::borrow(gpu_.device(), nullptr);
  return time_rounds(command, [&] {
    device::copy_async(gpu_copy_.data(), gpu_.data(), command.bytes, stream);
    stream.synchronize();
  });
}

}  // namespace ronde::bench::detail
