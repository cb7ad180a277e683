#include "ronde/comm/link/mesh.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "ronde/base/error.h"
#include "ronde/comm/detail/unix_socket.h"

namespace ronde::comm::detail {
namespace {

constexpr std::uint64_t kListener = ~std::uint64_t{0};
constexpr auto kDoubt = std::chrono::milliseconds(300);

void watch(int poll, int operation, int socket, std::uint64_t what, std::uint32_t events) {
  epoll_event event{.events = events, .data = {.u64 = what}};
  if (epoll_ctl(poll, operation, socket, &event) != 0) throw Error::system(errno, "cannot watch a connection");
}

Cargo cargo_of(std::string_view text) {
  Cargo cargo(text.size());
  std::memcpy(cargo.data(), text.data(), text.size());
  return cargo;
}

std::string in_words(int error) {
  return std::strerror(error);
}

}  // namespace

Mesh::Mesh(FileDescriptor listener, Options options)
    : options_(std::move(options)), listener_(std::move(listener)), poll_(epoll_create1(EPOLL_CLOEXEC)) {
  if (!poll_) throw Error::system(errno, "cannot watch the ranks of other nodes");
  watch(poll_.get(), EPOLL_CTL_ADD, listener_.get(), kListener, EPOLLIN);
}

Mesh::~Mesh() = default;

void Mesh::listen(Ears ears) {
  ears_ = std::move(ears);
  for (const auto& [peer, how] : lost_) ears_.lost(peer, how);
}

std::uint64_t Mesh::key(int peer, Tag tag) {
  return (static_cast<std::uint64_t>(peer) << 40) | (static_cast<std::uint64_t>(tag.channel) << 8) | tag.lane;
}

// --- out

Outgoing& Mesh::outgoing(int peer) {
  const auto [place, fresh] = outgoing_.try_emplace(peer);
  if (fresh) connect(peer, place->second);
  return place->second;
}

void Mesh::connect(int peer, Outgoing& out) {
  const Door& door = options_.doors[static_cast<std::size_t>(peer)];
  if (out.address >= door.addresses.size()) {
    // Who has done its part and left has closed its door, maybe before its goodbye has come round to us.
    out.state = Outgoing::State::Closed;
    out.queue.clear();
    doubtful_.try_emplace(peer, Deadline::after(kDoubt));
    return;
  }
  try {
    out.socket = begin_connect(door.addresses[out.address], door.port);
    out.state = Outgoing::State::Connecting;
    prepare_connection(out.socket.get(), static_cast<int>(options_.patience.count()));
    watch(poll_.get(), EPOLL_CTL_ADD, out.socket.get(), kOutgoing | static_cast<std::uint64_t>(peer),
          EPOLLIN | EPOLLOUT);
    out.waits_for_room = true;
  } catch (const Error& error) {
    connect_failed(peer, out, error.what());
  }
}

void Mesh::connect_failed(int peer, Outgoing& out, const std::string& why) {
  const Door& door = options_.doors[static_cast<std::size_t>(peer)];
  out.refusals +=
      fmt::format("{}{} port {}: {}", out.refusals.empty() ? "" : "; ", door.addresses[out.address], door.port, why);
  out.socket.close();
  ++out.address;
  connect(peer, out);
}

// The first that goes out says who calls and whom it means: with many interfaces, another may pick up.
void Mesh::connected(int peer, Outgoing& out) {
  int error = 0;
  socklen_t length = sizeof(error);
  getsockopt(out.socket.get(), SOL_SOCKET, SO_ERROR, &error, &length);
  if (error != 0) return connect_failed(peer, out, in_words(error));
  const std::string hello = fmt::format("{} {} {}", options_.rank, peer, options_.secret);
  const FrameHeader header{.kind = FrameKind::Hello, .bytes = hello.size()};
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof(header));
  bytes += hello;
  if (::send(out.socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(bytes.size()))
    return connect_failed(peer, out, in_words(errno));
  out.state = Outgoing::State::Greeting;
  want_room(peer, out, false);
}

void Mesh::want_room(int peer, Outgoing& out, bool wanted) {
  if (std::exchange(out.waits_for_room, wanted) == wanted) return;
  watch(poll_.get(), EPOLL_CTL_MOD, out.socket.get(), kOutgoing | static_cast<std::uint64_t>(peer),
        wanted ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

void Mesh::push(int peer, Frame frame) {
  if (lost_.contains(peer)) return;
  Outgoing& out = outgoing(peer);
  if (out.state == Outgoing::State::Closed) return;
  out.queue.push_back(std::move(frame));
  if (out.state == Outgoing::State::Open && !out.waits_for_room) write(peer, out);
}

void Mesh::write(int peer, Outgoing& out) {
  constexpr std::size_t kAtOnce = 16;
  while (!out.queue.empty()) {
    std::array<iovec, 2 * kAtOnce> pieces;
    std::size_t count = 0, skip = out.sent, whole = 0;
    const auto add = [&](void* data, std::size_t bytes) {
      whole += bytes - std::min(skip, bytes);
      if (bytes > skip) pieces[count++] = {static_cast<std::byte*>(data) + skip, bytes - skip};
      skip -= std::min(skip, bytes);
    };
    for (std::size_t i = 0; i < std::min(kAtOnce, out.queue.size()); ++i) {
      add(&out.queue[i].header, sizeof(FrameHeader));
      add(out.queue[i].cargo.data(), out.queue[i].cargo.size());
    }
    msghdr message{};
    message.msg_iov = pieces.data();
    message.msg_iovlen = count;
    const ssize_t sent = sendmsg(out.socket.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) return want_room(peer, out, true);
    if (sent < 0) return close_outgoing(peer, out, in_words(errno));
    out.sent += static_cast<std::size_t>(sent);
    while (!out.queue.empty() && out.sent >= sizeof(FrameHeader) + out.queue.front().cargo.size()) {
      out.sent -= sizeof(FrameHeader) + out.queue.front().cargo.size();
      if (out.queue.front().parcel) out.queue.front().parcel->done = true;
      out.queue.pop_front();
    }
    if (static_cast<std::size_t>(sent) < whole) return want_room(peer, out, true);
  }
  want_room(peer, out, false);
}

void Mesh::hear_reply(int peer, Outgoing& out) {
  char welcome = 0;
  const ssize_t got = recv(out.socket.get(), &welcome, 1, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  const bool greeting = out.state == Outgoing::State::Greeting;
  if (greeting && got == 1 && welcome == kWelcome) {
    out.state = Outgoing::State::Open;
    out.was_open = true;
    return write(peer, out);
  }
  const std::string why = got < 0 ? in_words(errno) : greeting ? "another program answers there" : "it has ended";
  if (greeting) return connect_failed(peer, out, why);
  close_outgoing(peer, out, why);
}

// What the peer has said last may not have been read yet: as long as it is connected to us, that end tells when it has
// gone.
void Mesh::close_outgoing(int peer, Outgoing& out, const std::string& how) {
  out.socket.close();
  out.queue.clear();
  out.state = Outgoing::State::Closed;
  if (std::ranges::none_of(incoming_, [peer](const auto& entry) { return entry.second.peer == peer; })) lose(peer, how);
}

void Mesh::hear_outgoing(int peer, std::uint32_t events) {
  const auto place = outgoing_.find(peer);
  if (place == outgoing_.end() || place->second.state == Outgoing::State::Closed) return;
  Outgoing& out = place->second;
  if (out.state == Outgoing::State::Connecting) return connected(peer, out);
  if (events & (EPOLLIN | EPOLLERR | EPOLLHUP)) hear_reply(peer, out);
  if ((events & EPOLLOUT) && out.state == Outgoing::State::Open) write(peer, out);
}

Parcel Mesh::send(int to, Tag tag, Cargo cargo) {
  auto parcel = std::make_shared<ParcelState>();
  const FrameHeader header{.kind = FrameKind::Message, .tag = tag, .bytes = cargo.size()};
  push(to, {.header = header, .cargo = std::move(cargo), .parcel = parcel});
  return parcel;
}

void Mesh::note(int to, std::string_view text) {
  push(to, {.header = {.kind = FrameKind::Note, .bytes = text.size()}, .cargo = cargo_of(text), .parcel = nullptr});
}

void Mesh::note_all(std::string_view text) {
  std::set<int> peers = heard_;
  for (const auto& [peer, out] : outgoing_) peers.insert(peer);
  for (const int peer : peers) note(peer, text);
}

void Mesh::flush(Deadline until) {
  const auto unsent = [this] {
    return std::ranges::any_of(outgoing_, [](const auto& entry) { return !entry.second.queue.empty(); });
  };
  while (unsent() && !until.passed()) {
    pollfd wanted{.fd = poll_.get(), .events = POLLIN, .revents = 0};
    poll(&wanted, 1, poll_time(until));
    pump();
  }
}

// A peer that has come and gone has come.
bool Mesh::reached(int peer) {
  if (outgoing(peer).was_open) return true;
  if (const auto lost = lost_.find(peer); lost != lost_.end())
    throw Error(Error::Kind::PeerLost,
                fmt::format("{}: {}", options_.names[static_cast<std::size_t>(peer)], lost->second), {.ranks = {peer}});
  return false;
}

// Empty when all are there.
std::string Mesh::still_missing(const std::vector<int>& call, const std::vector<int>& called_by) {
  for (const int peer : call) {
    if (reached(peer)) continue;
    const Door& door = options_.doors[static_cast<std::size_t>(peer)];
    const Outgoing& out = outgoing(peer);
    return fmt::format("{} does not answer at {} port {}{}", options_.names[static_cast<std::size_t>(peer)],
                       out.address < door.addresses.size() ? door.addresses[out.address] : "any address", door.port,
                       out.refusals.empty() ? "" : "; before that " + out.refusals);
  }
  for (const int peer : called_by)
    if (!heard_.contains(peer))
      return fmt::format("{} has not connected to this rank", options_.names[static_cast<std::size_t>(peer)]);
  return {};
}

void Mesh::meet(const std::vector<int>& call, const std::vector<int>& called_by, Deadline until) {
  for (const int peer : call) outgoing(peer);
  for (std::string missing; !(missing = still_missing(call, called_by)).empty(); pump()) {
    if (until.passed()) throw Error(Error::Kind::Timeout, missing + " at the start");
    pollfd wanted{.fd = poll_.get(), .events = POLLIN, .revents = 0};
    constexpr int kWhileInDoubt = 10;  // milliseconds
    poll(&wanted, 1, doubtful_.empty() ? poll_time(until) : kWhileInDoubt);
  }
}

// --- both

void Mesh::give_up_doubtful() {
  for (auto place = doubtful_.begin(); place != doubtful_.end();) {
    if (!place->second.passed()) {
      ++place;
      continue;
    }
    const int peer = place->first;
    place = doubtful_.erase(place);
    const std::string& tried = outgoing_.at(peer).refusals;
    lose(peer, "it cannot be reached: " + (tried.empty() ? "it has no address" : tried));
  }
}

bool Mesh::pump() {
  if (!doubtful_.empty()) give_up_doubtful();
  std::array<epoll_event, 32> events;
  const int count = epoll_wait(poll_.get(), events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < count; ++i) {
    const auto& event = events[static_cast<std::size_t>(i)];
    const std::uint64_t what = event.data.u64;
    if (what == kListener) {
      accept_all();
    } else if (what & kOutgoing) {
      hear_outgoing(static_cast<int>(what & (kOutgoing - 1)), event.events);
    } else if (const auto in = incoming_.find(what & (kOutgoing - 1)); in != incoming_.end()) {
      if (!hear(in->second)) incoming_.erase(in);
    }
  }
  return count > 0;
}

void Mesh::lose(int peer, const std::string& how) {
  if (!lost_.emplace(peer, how).second) return;
  if (const auto place = outgoing_.find(peer); place != outgoing_.end()) {
    place->second.socket.close();
    place->second.queue.clear();
    place->second.state = Outgoing::State::Closed;
  }
  if (ears_.lost) ears_.lost(peer, how);
}

}  // namespace ronde::comm::detail
