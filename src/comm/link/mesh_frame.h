#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "ronde/base/file_descriptor.h"
#include "ronde/comm/link/post.h"

// What travels over a connection of the mesh, and one end of a connection each way.
namespace ronde::comm::detail {

enum class FrameKind : std::uint32_t { Hello = 1, Message = 2, Note = 3 };

struct FrameHeader {
  static constexpr std::uint32_t kMagic = 0x524f4e44;  // tells at once when something else calls
  std::uint32_t magic = kMagic;
  FrameKind kind = FrameKind::Note;
  Tag tag = {};
  std::uint64_t bytes = 0;  // that follow
};

struct Frame {
  FrameHeader header;
  Cargo cargo;
  std::shared_ptr<ParcelState> parcel;  // done when it is sent
};

// The end that sends; the other way round there is a connection of its own. Made when something is first sent.
struct Outgoing {
  enum class State { Connecting, Greeting, Open, Closed };
  FileDescriptor socket;
  State state = State::Connecting;
  std::size_t address = 0;  // which of the peer's we try
  std::string refusals;     // why others did not work
  std::deque<Frame> queue;
  std::size_t sent = 0;         // of the first frame
  bool waits_for_room = false;  // the kernel tells when there is some
  bool was_open = false;
};

// A message that has begun to come, with or without somebody who has asked for it.
struct Arrival {
  Cargo cargo;
  std::size_t got = 0;
  bool complete = false;
  std::shared_ptr<ParcelState> asked;
  Cargo into;  // who asked too late for it to be read straight to its place
};

// The end that hears.
struct Incoming {
  static constexpr std::size_t kBuffer = 64 << 10;
  FileDescriptor socket;
  int peer = -1;  // not known before it has said hello
  std::vector<std::byte> buffer = std::vector<std::byte>(kBuffer);
  std::size_t begin = 0, end = 0;  // what of the buffer is not yet looked at
  FrameHeader header = {};
  std::size_t header_got = 0;        // bytes of the next one
  std::shared_ptr<Arrival> arrival;  // what is being read; none: a header comes next
};

}  // namespace ronde::comm::detail
