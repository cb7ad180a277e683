#include "ronde/comm/link/tcp/mesh_frame.h"

#include "ronde/base/text/format.h"
#include "ronde/base/text/units.h"

namespace ronde::comm::detail {
namespace {

constexpr std::uint64_t kLongestMessage = std::uint64_t{1} << 40;  // its memory is taken as it comes

}  // namespace

std::string wrong_header(const FrameHeader& header) {
  if (header.magic != FrameHeader::kMagic) return "it broke the protocol: invalid start of a message";
  if (header.kind != FrameKind::Message && header.kind != FrameKind::Note)
    return fmt::format("it broke the protocol: unknown kind of message {}", static_cast<std::uint32_t>(header.kind));
  if (header.tag.lane >= Tag::kLanes) return fmt::format("it broke the protocol: unknown lane {}", header.tag.lane);
  const std::uint64_t most = header.kind == FrameKind::Note ? FrameHeader::kLongestNote : kLongestMessage;
  if (header.bytes > most)
    return fmt::format("it broke the protocol: it announced a message of {}", format_bytes(header.bytes));
  return {};
}

}  // namespace ronde::comm::detail
