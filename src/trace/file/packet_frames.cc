#include "ronde/trace/file/packet_frames.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>

#include "ronde/base/error.h"
#include "ronde/base/text/format.h"
#include "ronde/base/wire/proto_cursor.h"
#include "ronde/trace/file/schema.h"

namespace ronde::trace::detail {
namespace {

constexpr std::size_t kBuffer = 1 << 17;         // stays in the cache, and costs a small file nothing
constexpr std::uint64_t kMostPacket = 1u << 28;  // metadata may be long; a length beyond that is garbage
constexpr char kPacketTag = schema::trace::kPacket << 3 | 2;
constexpr std::size_t kMostFrame = 11;  // tag and length

}  // namespace

PacketFrames::PacketFrames(const std::filesystem::path& file)
    : file_(file), descriptor_(::open(file.c_str(), O_RDONLY | O_CLOEXEC)), buffer_(kBuffer) {
  if (!descriptor_) throw Error::bad_input("'{}' cannot be opened: {}", file.string(), std::strerror(errno));
  fill(1);
  if (left() > 0 && buffer_[0] != kPacketTag) throw Error::bad_input("'{}' is not a trace file", file.string());
  if (left() == 0 && damage_.empty()) damage_ = "it is empty";
}

std::optional<std::string_view> PacketFrames::next() {
  if (!damage_.empty()) return {};
  offset_ = base_ + at_;
  fill(kMostFrame);
  if (!damage_.empty() || left() == 0) return {};
  std::string_view frame(buffer_.data() + at_, left());
  if (frame[0] != kPacketTag) return stop("no packet starts there");
  frame.remove_prefix(1);
  std::uint64_t length = 0;
  if (!ProtoCursor::take(frame, length)) return stop("it is cut off");
  if (length > kMostPacket) return stop("a packet of impossible length");
  at_ = filled_ - frame.size();
  fill(static_cast<std::size_t>(length));
  if (!damage_.empty()) return {};
  if (left() < length) return stop("it is cut off");
  const std::string_view packet(buffer_.data() + at_, static_cast<std::size_t>(length));
  at_ += packet.size();
  return packet;
}

// Until that many bytes are there, or the file is at its end.
void PacketFrames::fill(std::size_t wanted) {
  if (left() >= wanted || ended_) return;
  std::memmove(buffer_.data(), buffer_.data() + at_, left());
  base_ += at_;
  filled_ -= at_;
  at_ = 0;
  if (buffer_.size() < wanted) buffer_.resize(wanted);
  while (filled_ < wanted && !ended_) {
    const ssize_t got = ::read(descriptor_.get(), buffer_.data() + filled_, buffer_.size() - filled_);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) damage_ = fmt::format("it cannot be read: {}", std::strerror(errno));
    ended_ = got <= 0;
    if (got > 0) filled_ += static_cast<std::size_t>(got);
  }
}

std::optional<std::string_view> PacketFrames::stop(std::string why) {
  damage_ = std::move(why);
  return {};
}

}  // namespace ronde::trace::detail
