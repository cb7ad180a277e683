// The mesh's receiving end: what comes in, and whom it is for.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>

#include <sys/socket.h>

#include "ronde/base/error.h"
#include "ronde/base/text/units.h"
#include "ronde/comm/link/tcp/mesh.h"

namespace ronde::comm::detail {
namespace {

std::string wrong_size(std::size_t sent, std::size_t expected) {
  return fmt::format("it sent {} bytes where {} were expected", sent, expected);
}

std::string_view text_of(const SharedBuffer& buffer) {
  return {reinterpret_cast<const char*>(buffer.data()), buffer.size()};
}

}  // namespace

// False when the connection is over.
bool Mesh::hear(Incoming& in) {
  constexpr std::size_t kWorthReadingStraight = 16 << 10;
  for (;;) {
    Arrival* const arrival = in.arrival.get();
    const std::size_t left = arrival ? arrival->buffer.size() - arrival->got : 0;
    const bool straight = left >= kWorthReadingStraight;
    std::byte* const room = straight ? arrival->buffer.data() + arrival->got : in.buffer.data();
    const std::size_t most = straight ? left : in.buffer.size();
    const ssize_t got = recv(in.socket.get(), room, most, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    if (got <= 0) {
      lose(in.peer, got == 0 ? "it has ended" : std::strerror(errno));
      return false;
    }
    if (straight) {
      arrival->got += static_cast<std::size_t>(got);
      if (arrival->got == arrival->buffer.size() && !finish_frame(in)) return false;
    } else {
      in.begin = 0;
      in.end = static_cast<std::size_t>(got);
      if (!take_buffered(in)) return false;
    }
    if (static_cast<std::size_t>(got) < most) return true;  // that was all; the kernel tells of more
  }
}

bool Mesh::take_buffered(Incoming& in) {
  return detail::take_buffered(in, [&] { return begin_frame(in); }, [&] { return finish_frame(in); });
}

// For what no rank of this job would say.
bool Mesh::refuse(const Incoming& in, const std::string& why) {
  lose(in.peer, why);
  return false;
}

// False when the connection is over.
bool Mesh::begin_frame(Incoming& in) {
  const FrameHeader& header = in.header;
  if (const std::string wrong = wrong_header(header); !wrong.empty()) return refuse(in, wrong);
  auto arrival = std::make_shared<Arrival>();
  Line* const line = header.kind == FrameKind::Message ? &lines_[key(in.peer, header.tag)] : nullptr;
  if (line && !line->asked.empty()) {
    auto [buffer, message] = std::move(line->asked.front());
    line->asked.erase(line->asked.begin());
    if (buffer.size() != header.bytes) return refuse(in, wrong_size(header.bytes, buffer.size()));
    arrival->buffer = std::move(buffer);
    arrival->asked = std::move(message);
  } else {
    try {
      arrival->buffer = SharedBuffer(header.bytes);
    } catch (const std::bad_alloc&) {
      return refuse(in, fmt::format("not enough memory for its message of {}", format_bytes(header.bytes)));
    }
    if (line) line->arrivals.push_back(arrival);
  }
  in.arrival = std::move(arrival);
  return true;
}

// False when the connection is over.
bool Mesh::finish_frame(Incoming& in) {
  const auto arrival = std::exchange(in.arrival, nullptr);
  arrival->complete = true;
  if (in.header.kind == FrameKind::Note) {
    try {
      if (callbacks_.noted) callbacks_.noted(in.peer, text_of(arrival->buffer));
    } catch (const Error& error) {
      return refuse(in, fmt::format("it sent a note that cannot be read: {}", error.what()));
    }
    return true;
  }
  if (arrival->into.size() > 0) std::memcpy(arrival->into.data(), arrival->buffer.data(), arrival->into.size());
  if (arrival->asked) arrival->asked->done = true;
  return true;
}

bool Mesh::waiting(int from, Tag tag) const {
  const auto line = lines_.find(key(from, tag));
  return line != lines_.end() && !line->second.arrivals.empty() && line->second.arrivals.front()->complete;
}

SharedBuffer Mesh::take(int from, Tag tag) {
  Line& line = lines_.at(key(from, tag));
  const SharedBuffer buffer = line.arrivals.front()->buffer;
  line.arrivals.erase(line.arrivals.begin());
  return buffer;
}

PendingMessage Mesh::receive(int from, Tag tag, SharedBuffer buffer) {
  auto message = std::make_shared<MessageState>();
  Line& line = lines_[key(from, tag)];
  if (line.arrivals.empty()) {
    line.asked.emplace_back(std::move(buffer), message);
    return message;
  }
  const auto arrival = line.arrivals.front();
  line.arrivals.erase(line.arrivals.begin());
  if (arrival->buffer.size() != buffer.size()) {
    lose(from, wrong_size(arrival->buffer.size(), buffer.size()));
  } else if (arrival->complete) {
    if (buffer.size() > 0) std::memcpy(buffer.data(), arrival->buffer.data(), buffer.size());
    message->done = true;
  } else {
    arrival->into = std::move(buffer);
    arrival->asked = message;
  }
  return message;
}

}  // namespace ronde::comm::detail
