#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ronde/comm/request.h"

namespace ronde::comm::detail {

// Operations that the engine runs for itself.
inline constexpr Operation kMakeGroup = static_cast<Operation>(100);
inline constexpr Operation kDropGroup = static_cast<Operation>(101);

// What the members of a group must agree on about a request. What does not matter to its operation has its default
// value, so that equal descriptions mean equal work.
struct Description {
  Operation operation = Operation::Allreduce;
  DType dtype = DType::F32;
  ReduceOp op = ReduceOp::Sum;
  Compression compression = Compression::None;
  bool on_gpu = false;    // the buffers are a GPU's
  bool any_rows = false;  // the first dimension may differ by member; it is 0 in `shape`
  std::int32_t root = -1;
  double prescale = 1.0;
  double postscale = 1.0;
  std::uint32_t order = 0;  // of the values in memory; see memory_order()
  Shape shape = {};
  std::string text = {};  // of the engine's own operations: which ranks, which group

  friend bool operator==(const Description&, const Description&) = default;
};

// In which order the dimensions of a buffer lie in memory: their numbers from 1 on, four bits each, that with the
// largest stride first. Those of one element are left out, since their strides say nothing. 0: as in the shape. Nothing
// when the values do not lie one behind the other.
std::optional<std::uint32_t> memory_order(const Buffer& buffer);

// Of a request that has been checked; `rank` is this member's.
Description describe(const Request& request, int rank);

// Differs when descriptions differ, but for one chance in 2^64. Neither 0, 1 nor the largest number.
std::uint64_t signature(const Description& description);
// Of several that are submitted together.
std::uint64_t combined_signature(std::uint64_t first, std::uint64_t second);

bool reduces(Operation operation);  // makes one value of those of all members

// A member that has joined can take part with zeros.
bool joinable(const Description& description);

std::string to_text(const Description& description);  // "allreduce (sum) of f32 [3, 4]"

void write_description(std::string& bytes, const Description& description);
// Takes one from the front of `bytes`. FAILS WITH: Bug for bytes that are none.
Description read_description(std::string_view& bytes);

// "'w': members asked for different things: ranks 0, 2: allreduce (sum) of f32 [3]; rank 1: allreduce (sum) of f32
// [4]". `asked` by member, none: it has joined; `ranks` are the members' ranks of the job.
std::string describe_mismatch(std::string_view what, std::span<const std::optional<Description>> asked,
                              std::span<const int> ranks);

// "rank 3", "ranks 0, 2 and 3"
std::string list_ranks(std::span<const int> ranks);

}  // namespace ronde::comm::detail
