#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ronde/base/system/clock.h"
#include "ronde/comm/link/tcp/endpoint.h"
#include "ronde/comm/link/tcp/handshake.h"
#include "ronde/comm/link/tcp/tcp_health.h"
#include "ronde/comm/link/transport.h"
#include "ronde/comm/support/close_on_fork.h"

// What travels over a connection of the mesh, and one end of a connection each way.
namespace ronde::comm::detail {

enum class FrameKind : std::uint32_t { Message = 2, Note = 3 };

struct FrameHeader {
  static constexpr std::uint32_t kMagic = 0x524f4e44;  // tells at once when something is out of step
  static constexpr std::uint64_t kLongestNote = 1 << 20;
  std::uint32_t magic = kMagic;
  FrameKind kind = FrameKind::Note;
  Tag tag = {};
  std::uint64_t bytes = 0;  // that follow
};

// What is wrong with a header that a peer has sent; empty when it is one. Pure.
std::string wrong_header(const FrameHeader& header);

struct Frame {
  FrameHeader header;
  SharedBuffer buffer;
  std::shared_ptr<MessageState> message;  // done when it is sent
};

// The end that sends; the other way round there is a connection of its own. Made when something is first sent.
struct Outgoing {
  // Answering: the peer has proven that it belongs to the job, and looks at our proof. Pausing: between two rounds of
  // its addresses.
  enum class State { Connecting, Greeting, Answering, Open, Pausing, Closed };
  support::CloforkDescriptor socket;
  State state = State::Pausing;
  Endpoint there;                // where the peer listens, addresses in the order to try
  std::size_t address = 0;       // which of them we try
  Deadline until;                // of this attempt, or of the pause
  bool another_round = false;    // one of the addresses may yet answer
  std::optional<Deadline> busy;  // how long it may hang up on us
  std::string refusals;          // why the addresses of this round did not work
  std::string before;            // and those of the last one
  std::optional<CallerHandshake> handshake;
  std::string challenge;  // what has come of it
  std::deque<Frame> queue;
  std::size_t sent = 0;         // of the first frame
  bool waits_for_room = false;  // the kernel tells when there is some
  bool was_open = false;
  bool outstanding = false;  // something may not have arrived yet
  TcpHealth health;
};

// A message that has begun to come, with or without somebody who has asked for it.
struct Arrival {
  SharedBuffer buffer;
  std::size_t got = 0;
  bool complete = false;
  std::shared_ptr<MessageState> asked;
  SharedBuffer into;  // who asked too late for it to be read straight to its place
};

// The end that hears.
struct Incoming {
  static constexpr std::size_t kBuffer = 64 << 10;
  support::CloforkDescriptor socket;
  int peer = -1;
  std::vector<std::byte> buffer = std::vector<std::byte>(kBuffer);
  std::size_t begin = 0, end = 0;  // what of the buffer is not yet looked at
  FrameHeader header = {};
  std::size_t header_got = 0;        // bytes of the next one
  std::shared_ptr<Arrival> arrival;  // what is being read; none: a header comes next
};

// Goes through what the buffer holds. `begin` is called for each header, and gives room for what follows it in
// `arrival`; `finish` when all of that is there, and takes the arrival away. False when one of them says so: the
// connection is over. A header may come in two parts.
template <class Begin, class Finish>
bool take_buffered(Incoming& in, Begin begin, Finish finish) {
  while (in.begin < in.end || (in.arrival && in.arrival->got == in.arrival->buffer.size())) {
    if (!in.arrival) {
      const std::size_t part = std::min(sizeof(FrameHeader) - in.header_got, in.end - in.begin);
      std::memcpy(reinterpret_cast<std::byte*>(&in.header) + in.header_got, in.buffer.data() + in.begin, part);
      in.begin += part;
      in.header_got += part;
      if (in.header_got < sizeof(FrameHeader)) return true;
      in.header_got = 0;
      if (!begin()) return false;
      continue;
    }
    Arrival& arrival = *in.arrival;
    const std::size_t part = std::min(arrival.buffer.size() - arrival.got, in.end - in.begin);
    if (part > 0) std::memcpy(arrival.buffer.data() + arrival.got, in.buffer.data() + in.begin, part);
    in.begin += part;
    arrival.got += part;
    if (arrival.got == arrival.buffer.size() && !finish()) return false;
  }
  return true;
}

// Somebody who has connected, and has not proven yet that it is a rank of this job.
struct UnverifiedConnection {
  support::CloforkDescriptor socket;
  ListenerHandshake handshake;
  Deadline until;
};

}  // namespace ronde::comm::detail
