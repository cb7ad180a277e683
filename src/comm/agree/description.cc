#include "ronde/comm/agree/description.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>

#include "ronde/base/error.h"
#include "ronde/base/text/format.h"
#include "ronde/base/text/text.h"
#include "ronde/comm/support/bytes.h"

namespace ronde::comm::detail {
namespace {

bool has_root(Operation operation) {
  return operation == Operation::Reduce || operation == Operation::Gather || operation == Operation::Scatter ||
         operation == Operation::Broadcast;
}

bool rows_differ(Operation operation) {
  return operation == Operation::Allgather || operation == Operation::Gather || operation == Operation::Scatter ||
         operation == Operation::Alltoall;
}

std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
  return hash ^ (hash >> 32);
}

constexpr std::string_view kWhat = "a description";

// "0 2 3 1 (channels last)"
std::string order_to_text(std::uint32_t order) {
  std::vector<std::uint32_t> dimensions;
  for (int shift = 28; shift >= 0; shift -= 4)
    if (const std::uint32_t dimension = order >> shift & 0xf; dimension != 0) dimensions.push_back(dimension - 1);
  const bool channels_last =
      dimensions.size() > 2 && dimensions.back() == 1 && std::is_sorted(dimensions.begin(), dimensions.end() - 1);
  return fmt::format("{}{}", fmt::join(dimensions, " "), channels_last ? " (channels last)" : "");
}

}  // namespace

std::optional<std::uint32_t> memory_order(const Buffer& buffer) {
  const auto extents = buffer.shape.extents();
  if (buffer.strides.empty() || buffer.shape.elements() == 0) return 0;
  if (buffer.strides.size() != extents.size()) return {};
  std::vector<std::size_t> dimensions;
  for (std::size_t i = 0; i < extents.size(); ++i)
    if (extents[i] != 1) dimensions.push_back(i);
  std::ranges::stable_sort(dimensions, std::greater(), [&](std::size_t i) { return buffer.strides[i]; });
  std::int64_t expected = 1;
  for (std::size_t i = dimensions.size(); i-- > 0; expected *= extents[dimensions[i]])
    if (buffer.strides[dimensions[i]] != expected) return {};
  if (std::ranges::is_sorted(dimensions)) return 0;
  std::uint32_t order = 0;
  for (const std::size_t dimension : dimensions) order = order << 4 | static_cast<std::uint32_t>(dimension + 1);
  return order;
}

bool reduces(Operation operation) {
  return operation == Operation::Allreduce || operation == Operation::Reduce || operation == Operation::ReduceScatter;
}

Description describe(const Request& request, int rank) {
  Description description;
  description.operation = request.operation;
  const bool sends = request.operation == Operation::Send || request.operation == Operation::Receive;
  if (sends) description.operation = Operation::Send;
  if (request.operation == Operation::Barrier || request.operation == Operation::Join) return description;
  const bool scattered = request.operation == Operation::Scatter && rank != request.root;
  const Buffer& buffer = scattered || request.operation == Operation::Receive ? request.output : request.input;
  description.dtype = buffer.dtype;
  description.shape = buffer.shape;
  description.compression = request.compression;
  description.on_gpu = buffer.device != device::kHost;
  if (rows_differ(request.operation)) {
    description.any_rows = true;
    description.shape = buffer.shape.with_rows(0);
  }
  if (!buffer.strides.empty()) description.order = memory_order(buffer).value_or(0);
  if (has_root(request.operation)) description.root = request.root;
  if (reduces(request.operation)) {
    description.op = request.op;
    description.prescale = request.prescale;
    description.postscale = request.postscale;
  }
  return description;
}

std::uint64_t signature(const Description& description) {
  std::uint64_t hash = mix(0x8f3a, static_cast<std::uint64_t>(description.operation));
  hash =
      mix(hash, static_cast<std::uint64_t>(description.dtype) << 16 | static_cast<std::uint64_t>(description.op) << 8 |
                    static_cast<std::uint64_t>(description.compression));
  hash = mix(hash, std::uint64_t{description.order} << 32 | static_cast<std::uint32_t>(description.root));
  hash = mix(hash, std::bit_cast<std::uint64_t>(description.prescale));
  hash = mix(hash, std::bit_cast<std::uint64_t>(description.postscale));
  hash = mix(hash, description.shape.dimensions() << 2 | static_cast<std::uint64_t>(description.on_gpu) << 1 |
                       static_cast<std::uint64_t>(description.any_rows));
  for (const std::int64_t extent : description.shape.extents()) hash = mix(hash, static_cast<std::uint64_t>(extent));
  for (const char letter : description.text) hash = mix(hash, static_cast<unsigned char>(letter));
  return combined_signature(hash, 0);
}

std::uint64_t combined_signature(std::uint64_t first, std::uint64_t second) {
  return mix(mix(0x51ed, first), second) % (~std::uint64_t{0} - 2) + 2;  // the order matters
}

bool joinable(const Description& description) {
  if (description.operation == Operation::Barrier) return true;
  return description.operation == Operation::Allreduce &&
         (description.op == ReduceOp::Sum || description.op == ReduceOp::Average || description.op == ReduceOp::Adasum);
}

std::string to_text(const Description& description) {
  if (!description.text.empty()) return fmt::format("{} {}", name(description.operation), description.text);
  std::string text(name(description.operation));
  if (description.operation == Operation::Barrier || description.operation == Operation::Join) return text;
  if (reduces(description.operation)) text += fmt::format(" ({})", name(description.op));
  std::string shape = to_text(description.shape);
  if (description.any_rows) shape = "[*" + shape.substr(2);  // the rows are 0 here, and may differ
  text += fmt::format(" of {} {}", name(description.dtype), shape);
  if (description.order != 0) text += " in memory order " + order_to_text(description.order);
  if (description.on_gpu) text += " on a GPU";
  if (description.root >= 0) text += fmt::format(" with root {}", description.root);
  if (description.prescale != 1.0 || description.postscale != 1.0)
    text += fmt::format(" scaled by {} before and {} after", description.prescale, description.postscale);
  if (description.compression != Compression::None) text += fmt::format(" sent as {}", name(description.compression));
  return text;
}

void write_description(std::string& bytes, const Description& description) {
  support::put(bytes, description.operation);
  support::put(bytes, description.dtype);
  support::put(bytes, description.op);
  support::put(bytes, description.compression);
  support::put(bytes, description.on_gpu);
  support::put(bytes, description.any_rows);
  support::put(bytes, description.root);
  support::put(bytes, description.prescale);
  support::put(bytes, description.postscale);
  support::put(bytes, description.order);
  support::put(bytes, static_cast<std::uint32_t>(description.shape.dimensions()));
  for (const std::int64_t extent : description.shape.extents()) support::put(bytes, extent);
  support::put(bytes, static_cast<std::uint32_t>(description.text.size()));
  bytes += description.text;
}

namespace {

// Up to the last value that there is.
template <class Enum>
Enum take_enum(std::string_view& bytes, Enum last) {
  const auto value = support::take<std::underlying_type_t<Enum>>(bytes, kWhat);
  if (value > static_cast<std::underlying_type_t<Enum>>(last))
    throw Error(Error::Kind::Bug, fmt::format("{} holds an unknown value", kWhat));
  return static_cast<Enum>(value);
}

}  // namespace

Description read_description(std::string_view& bytes) {
  Description description;
  description.operation = take_enum(bytes, kDropGroup);
  description.dtype = take_enum(bytes, DType::Bool);
  description.op = take_enum(bytes, ReduceOp::Adasum);
  description.compression = take_enum(bytes, Compression::BF16);
  description.on_gpu = support::take<std::uint8_t>(bytes, kWhat) != 0;
  description.any_rows = support::take<std::uint8_t>(bytes, kWhat) != 0;
  description.root = support::take<std::int32_t>(bytes, kWhat);
  description.prescale = support::take<double>(bytes, kWhat);
  description.postscale = support::take<double>(bytes, kWhat);
  description.order = support::take<std::uint32_t>(bytes, kWhat);
  std::vector<std::int64_t> extents(support::take<std::uint32_t>(bytes, kWhat) % (Shape::kMost + 1));
  for (std::int64_t& extent : extents) extent = support::take<std::int64_t>(bytes, kWhat);
  description.shape = Shape(extents);
  description.text = support::take(bytes, support::take<std::uint32_t>(bytes, kWhat), kWhat);
  return description;
}

std::string list_ranks(std::span<const int> ranks) {
  std::vector<std::string> numbers;
  for (const int rank : ranks) numbers.push_back(std::to_string(rank));
  if (numbers.size() == 1) return "rank " + numbers.front();
  const std::string last = numbers.empty() ? "" : numbers.back();
  if (!numbers.empty()) numbers.pop_back();
  return fmt::format("ranks {} and {}", join(numbers, ", "), last);
}

std::string describe_mismatch(std::string_view what, std::span<const std::optional<Description>> asked,
                              std::span<const int> ranks) {
  std::vector<std::string> texts;        // in order of their first member
  std::vector<std::vector<int>> askers;  // by text
  for (std::size_t member = 0; member < asked.size(); ++member) {
    const std::string text = asked[member] ? to_text(*asked[member])
                                           : "has joined, which works only with sums, averages, adasum and barriers";
    const auto known = std::ranges::find(texts, text);
    const auto index = static_cast<std::size_t>(known - texts.begin());
    if (known == texts.end()) {
      texts.push_back(text);
      askers.emplace_back();
    }
    askers[index].push_back(ranks[member]);
  }
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < texts.size(); ++i)
    parts.push_back(fmt::format("{}: {}", list_ranks(askers[i]), texts[i]));
  return fmt::format("{}: ranks asked for different things: {}", what, join(parts, "; "));
}

}  // namespace ronde::comm::detail
