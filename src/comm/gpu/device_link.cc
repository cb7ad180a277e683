#include "ronde/comm/gpu/device_link.h"

#include <map>
#include <utility>

#include "ronde/base/error.h"

namespace ronde::comm::detail {
namespace {

// "0", "0 and 1", "0, 1 and 5"
std::string list_ranks(const std::vector<int>& ranks) {
  std::string text = std::to_string(ranks.front());
  for (std::size_t i = 1; i < ranks.size(); ++i)
    text += (i + 1 == ranks.size() ? " and " : ", ") + std::to_string(ranks[i]);
  return text;
}

// Numbers of GPUs are what each process makes of them (CUDA_VISIBLE_DEVICES); bus ids are not.
std::pair<std::string, std::string> identity(const GpuPlace& place) {
  return {place.host, place.bus_id.empty() ? std::to_string(place.device) : place.bus_id};
}

bool is_floating(DType dtype) {
  return dtype == DType::F16 || dtype == DType::BF16 || dtype == DType::F32 || dtype == DType::F64;
}

}  // namespace

GpuPlace gpu_place(int device, int rank, std::string host) {
  return {.host = std::move(host), .device = device, .bus_id = device::bus_id(device), .rank = rank};
}

std::string why_not_nccl(const std::vector<GpuPlace>& places) {
  constexpr std::string_view kConsequence = "and NCCL needs one GPU per rank: buffers go through host memory instead";
  std::map<std::pair<std::string, std::string>, std::vector<int>> users;
  for (const GpuPlace& place : places) {
    if (place.device == device::kHost)
      return fmt::format("rank {} on {} has no GPU, {}", place.rank, place.host, kConsequence);
    users[identity(place)].push_back(place.rank);
  }
  for (const GpuPlace& place : places) {
    const std::vector<int>& ranks = users[identity(place)];
    if (ranks.size() > 1)
      return fmt::format("ranks {} on {} share GPU {}{}, {}", list_ranks(ranks), place.host, place.device,
                         place.bus_id.empty() ? "" : fmt::format(" ({})", place.bus_id), kConsequence);
  }
  return {};
}

bool nccl_can(DType dtype, ReduceOp op) {
  if (op == ReduceOp::Adasum) return false;
  // NCCL does not promise how it rounds integers; our average goes towards zero.
  if (op == ReduceOp::Average) return is_floating(dtype);
  return is_floating(dtype) || dtype == DType::U8 || dtype == DType::I8 || dtype == DType::I32 || dtype == DType::I64;
}

}  // namespace ronde::comm::detail
