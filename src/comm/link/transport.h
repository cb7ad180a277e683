#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "ronde/comm/link/task.h"

namespace ronde::comm::detail {

// Memory for messages. A copy is the same memory; it lives as long as anyone has one, so that a message may still be on
// its way when whoever sent it has given up.
class SharedBuffer {
 public:
  SharedBuffer() = default;
  explicit SharedBuffer(std::size_t bytes) : keep_(new std::byte[bytes]), bytes_(keep_.get(), bytes) {}

  std::byte* data() const { return bytes_.data(); }
  std::size_t size() const { return bytes_.size(); }
  std::span<std::byte> bytes() const { return bytes_; }
  SharedBuffer part(std::size_t begin, std::size_t size) const {
    SharedBuffer part = *this;
    part.bytes_ = bytes_.subspan(begin, size);
    return part;
  }

 private:
  std::shared_ptr<std::byte[]> keep_;
  std::span<std::byte> bytes_;
};

// Which messages meet: those of a channel (a group has one) and a lane of it, in the order in which they are sent and
// asked for.
struct Tag {
  std::uint32_t channel = 0;
  std::uint32_t lane = 0;
  static constexpr std::uint32_t kLanes = 32;
};

// A message on its way, in or out.
struct MessageState {
  bool done = false;
};
using PendingMessage = std::shared_ptr<const MessageState>;

// Carries messages between ranks that share no memory. Nothing blocks: things move on in pump(). Belongs to whoever
// carries the engine's work.
class Transport {
 public:
  virtual ~Transport() = default;

  // Done when the buffer may be used again. A message to a rank that is gone is never done.
  virtual PendingMessage send(int to, Tag tag, SharedBuffer buffer) = 0;
  // Done when the message is in the buffer. REQUIRES: as many bytes as were sent.
  virtual PendingMessage receive(int from, Tag tag, SharedBuffer buffer) = 0;

  // Moves on what can move; true when anything did.
  virtual bool pump() = 0;
  // Nobody rings when a message comes: while this is true, pump() must be called again and again.
  virtual bool must_be_pumped() const = 0;
};

inline auto arrives(PendingMessage message) {
  return until([message = std::move(message)] { return message->done; });
}

}  // namespace ronde::comm::detail
