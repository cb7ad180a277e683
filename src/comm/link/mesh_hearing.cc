// The mesh's hearing end: what comes in, and whom it is for.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <sys/epoll.h>
#include <sys/socket.h>

#include "ronde/base/error.h"
#include "ronde/base/text.h"
#include "ronde/comm/link/mesh.h"

namespace ronde::comm::detail {
namespace {

constexpr std::uint64_t kLongestText = 1 << 20;  // of a note or a greeting

std::string_view text_of(const Cargo& cargo) {
  return {reinterpret_cast<const char*>(cargo.data()), cargo.size()};
}

}  // namespace

void Mesh::accept_all() {
  for (;;) {
    FileDescriptor socket(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) return;
    prepare_connection(socket.get(), static_cast<int>(options_.patience.count()));
    const std::uint64_t id = next_id_++;
    epoll_event event{.events = EPOLLIN, .data = {.u64 = kIncoming | id}};
    if (epoll_ctl(poll_.get(), EPOLL_CTL_ADD, socket.get(), &event) != 0)
      throw Error::system(errno, "cannot watch a connection");
    incoming_[id].socket = std::move(socket);
  }
}

// False when the connection is over.
bool Mesh::hear(Incoming& in) {
  constexpr std::size_t kWorthReadingStraight = 16 << 10;
  for (;;) {
    Arrival* const arrival = in.arrival.get();
    const std::size_t left = arrival ? arrival->cargo.size() - arrival->got : 0;
    const bool straight = left >= kWorthReadingStraight;
    std::byte* const room = straight ? arrival->cargo.data() + arrival->got : in.buffer.data();
    const std::size_t most = straight ? left : in.buffer.size();
    const ssize_t got = recv(in.socket.get(), room, most, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    if (got <= 0) {
      if (in.peer >= 0) lose(in.peer, got == 0 ? "it has ended" : std::strerror(errno));
      return false;
    }
    if (straight) {
      arrival->got += static_cast<std::size_t>(got);
      if (arrival->got == arrival->cargo.size() && !finish_frame(in)) return false;
    } else {
      in.begin = 0;
      in.end = static_cast<std::size_t>(got);
      if (!take_buffered(in)) return false;
    }
    if (static_cast<std::size_t>(got) < most) return true;  // that was all; the kernel tells of more
  }
}

// Goes through what the buffer holds. A header may come in two parts: `got` counts what of it is there.
bool Mesh::take_buffered(Incoming& in) {
  while (in.begin < in.end || (in.arrival && in.arrival->got == in.arrival->cargo.size())) {
    if (!in.arrival) {
      const std::size_t part = std::min(sizeof(FrameHeader) - in.header_got, in.end - in.begin);
      std::memcpy(reinterpret_cast<std::byte*>(&in.header) + in.header_got, in.buffer.data() + in.begin, part);
      in.begin += part;
      in.header_got += part;
      if (in.header_got < sizeof(FrameHeader)) return true;
      in.header_got = 0;
      if (!begin_frame(in)) return false;
      continue;
    }
    Arrival& arrival = *in.arrival;
    const std::size_t part = std::min(arrival.cargo.size() - arrival.got, in.end - in.begin);
    if (part > 0) std::memcpy(arrival.cargo.data() + arrival.got, in.buffer.data() + in.begin, part);
    in.begin += part;
    arrival.got += part;
    if (arrival.got == arrival.cargo.size() && !finish_frame(in)) return false;
  }
  return true;
}

// False for what no rank of this job would say: the connection is dropped.
bool Mesh::begin_frame(Incoming& in) {
  const FrameHeader& header = in.header;
  const bool hello = header.kind == FrameKind::Hello;
  if (header.magic != FrameHeader::kMagic || hello != (in.peer < 0)) return false;
  if (header.kind != FrameKind::Message && header.bytes > kLongestText) return false;
  in.arrival = std::make_shared<Arrival>();
  if (header.kind == FrameKind::Message) {
    Line& line = lines_[key(in.peer, header.tag)];
    if (!line.asked.empty()) {
      auto [cargo, parcel] = std::move(line.asked.front());
      line.asked.erase(line.asked.begin());
      if (cargo.size() != header.bytes)
        throw Error(Error::Kind::Bug,
                    fmt::format("rank {} sent {} bytes where {} were expected", in.peer, header.bytes, cargo.size()));
      in.arrival->cargo = std::move(cargo);
      in.arrival->asked = std::move(parcel);
      return true;
    }
    line.arrivals.push_back(in.arrival);
  }
  in.arrival->cargo = Cargo(header.bytes);
  return true;
}

bool Mesh::finish_frame(Incoming& in) {
  const auto arrival = std::exchange(in.arrival, nullptr);
  arrival->complete = true;
  if (in.header.kind == FrameKind::Hello) {
    return greet(in, text_of(arrival->cargo));
  }
  if (in.header.kind == FrameKind::Note) {
    if (ears_.noted) ears_.noted(in.peer, text_of(arrival->cargo));
    return true;
  }
  if (arrival->into.size() > 0) std::memcpy(arrival->into.data(), arrival->cargo.data(), arrival->into.size());
  if (arrival->asked) arrival->asked->done = true;
  return true;
}

bool Mesh::greet(Incoming& in, std::string_view hello) {
  const auto words = split(hello, ' ');
  if (words.size() != 3 || words[2] != options_.secret || parse_number<int>(words[1]) != options_.rank) return false;
  const auto peer = parse_number<int>(words[0]);
  if (!peer || *peer < 0 || *peer >= static_cast<int>(options_.doors.size())) return false;
  in.peer = *peer;
  heard_.insert(in.peer);
  return ::send(in.socket.get(), &kWelcome, 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
}

bool Mesh::waiting(int from, Tag tag) const {
  const auto line = lines_.find(key(from, tag));
  return line != lines_.end() && !line->second.arrivals.empty() && line->second.arrivals.front()->complete;
}

Parcel Mesh::receive(int from, Tag tag, Cargo cargo) {
  auto parcel = std::make_shared<ParcelState>();
  Line& line = lines_[key(from, tag)];
  if (line.arrivals.empty()) {
    line.asked.emplace_back(std::move(cargo), parcel);
    return parcel;
  }
  const auto arrival = line.arrivals.front();
  line.arrivals.erase(line.arrivals.begin());
  if (arrival->cargo.size() != cargo.size())
    throw Error(Error::Kind::Bug,
                fmt::format("rank {} sent {} bytes where {} were expected", from, arrival->cargo.size(), cargo.size()));
  if (arrival->complete) {
    if (cargo.size() > 0) std::memcpy(cargo.data(), arrival->cargo.data(), cargo.size());
    parcel->done = true;
  } else {
    arrival->into = std::move(cargo);
    arrival->asked = parcel;
  }
  return parcel;
}

}  // namespace ronde::comm::detail
