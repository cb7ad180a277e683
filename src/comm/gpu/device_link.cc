#include "ronde/comm/gpu/device_link.h"

#include <algorithm>
#include <map>
#include <utility>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"

namespace ronde::comm::detail {
namespace {

constexpr std::string_view kNoBusId = "-";

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

std::string GpuPlace::to_text() const {
  std::string text = fmt::format("{} {} {} {}", rank, device, bus_id.empty() ? kNoBusId : bus_id, host);
  text.resize(std::min(text.size(), kMostBytes));
  return text;
}

GpuPlace GpuPlace::from_text(std::string_view text) {
  const auto words = split(text, ' ');
  if (words.size() >= 4) {
    const auto rank = parse_number<int>(words[0]);
    const auto device = parse_number<int>(words[1]);
    if (rank && device && !words[2].empty()) {
      const std::string_view host = text.substr(words[0].size() + words[1].size() + words[2].size() + 3);
      const std::string_view bus_id = words[2] == kNoBusId ? "" : words[2];
      return {.host = std::string(host), .device = *device, .bus_id = std::string(bus_id), .rank = *rank};
    }
  }
  throw Error(Error::Kind::Mismatch,
              "a member sent an invalid location of its GPU; check that all ranks run the same version of Ronde");
}

std::string GpuPlace::to_words() const {
  return fmt::format("rank {} (host {}, GPU {}{}{})", rank, host, device, bus_id.empty() ? "" : " ", bus_id);
}

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
