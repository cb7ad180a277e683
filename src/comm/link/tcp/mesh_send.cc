// The mesh's sending end: connections to peers, and what is sent.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "ronde/base/error.h"
#include "ronde/comm/link/tcp/mesh.h"
#include "ronde/comm/support/unix_socket.h"

namespace ronde::comm::detail {
namespace {

constexpr auto kDoubt = std::chrono::milliseconds(300);
constexpr auto kPause = std::chrono::milliseconds(100);  // before a round of addresses is tried again

SharedBuffer shared_buffer_of(std::string_view text) {
  SharedBuffer buffer(text.size());
  std::memcpy(buffer.data(), text.data(), text.size());
  return buffer;
}

std::string in_words(int error) {
  return std::strerror(error);
}

}  // namespace

Outgoing& Mesh::outgoing(int peer) {
  const auto [place, fresh] = outgoing_.try_emplace(peer);
  if (fresh) {
    place->second.health = TcpHealth(options_.peer_timeout);
    place->second.there = options_.job->endpoint(options_.rank, peer);
    connect(peer, place->second);
  }
  return place->second;
}

void Mesh::begin_round(int peer, Outgoing& out) {
  out.address = 0;
  out.another_round = false;
  out.before = std::exchange(out.refusals, {});
  connect(peer, out);
}

// Nobody has answered at any address. Who has done its part and left listens no more, maybe before its goodbye has come
// round to us.
void Mesh::end_round(int peer, Outgoing& out) {
  if (out.another_round) {
    out.state = Outgoing::State::Pausing;
    out.until = Deadline::after(kPause);
    return wake_within(kPause);
  }
  out.state = Outgoing::State::Closed;
  out.queue.clear();
  doubt(peer,
        "it cannot be reached: " + (out.refusals.empty() ? "all its addresses are also addresses of this machine; set "
                                                           "comm.interface to a network that both machines are in"
                                                         : out.refusals),
        kDoubt);
}

void Mesh::connect(int peer, Outgoing& out) {
  const Endpoint& there = out.there;
  if (out.address >= there.addresses.size()) return end_round(peer, out);
  try {
    out.socket = begin_connect(there.addresses[out.address].ip, there.port);
    out.state = Outgoing::State::Connecting;
    out.until = Deadline::after(options_.peer_timeout);
    wake_within(options_.peer_timeout);
    prepare_connection(out.socket.get(), options_.peer_timeout);
    watch(EPOLL_CTL_ADD, out.socket.get(), kOutgoing | static_cast<std::uint64_t>(peer), EPOLLIN | EPOLLOUT);
    out.waits_for_room = true;
  } catch (const Error& error) {
    connect_failed(peer, out, error.what(), Retry::No);
  }
}

// A peer that hangs up may have had no room for us, or may have been stopped for so long that it took us for gone; but
// one that goes on doing so is another. One that says nothing may be stopped: for how long is not ours to judge.
void Mesh::connect_failed(int peer, Outgoing& out, const std::string& why, Retry retry) {
  const Endpoint& there = out.there;
  out.refusals += fmt::format("{}{} port {}: {}", out.refusals.empty() ? "" : "; ", there.addresses[out.address].ip,
                              there.port, why);
  out.socket.close();
  out.challenge.clear();
  out.outstanding = false;
  if (retry == Retry::WhileBusy && !out.busy) out.busy = Deadline::after(options_.peer_timeout);
  if (retry == Retry::Maybe || (retry == Retry::WhileBusy && !out.busy->passed())) out.another_round = true;
  ++out.address;
  connect(peer, out);
}

void Mesh::connected(int peer, Outgoing& out) {
  int error = 0;
  socklen_t length = sizeof(error);
  getsockopt(out.socket.get(), SOL_SOCKET, SO_ERROR, &error, &length);
  if (error != 0)  // a kernel may be told to refuse whom its queue has no room for
    return connect_failed(peer, out, in_words(error), error == ECONNRESET ? Retry::WhileBusy : Retry::No);
  sockaddr_storage there{};
  length = sizeof(there);
  if (getpeername(out.socket.get(), reinterpret_cast<sockaddr*>(&there), &length) != 0)
    return;  // what woke us was for the attempt before this one
  out.handshake.emplace(options_.secret, Call{.from = options_.rank, .to = peer}, support::random_bytes());
  const std::string hello = out.handshake->hello();
  if (::send(out.socket.get(), hello.data(), hello.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(hello.size()))
    return connect_failed(peer, out, in_words(errno), Retry::WhileBusy);
  out.state = Outgoing::State::Greeting;
  out.until = Deadline::after(options_.peer_timeout);
  wake_within(options_.peer_timeout);
  want_room(peer, out, false);
}

void Mesh::hear_outgoing(int peer, std::uint32_t events) {
  const auto place = outgoing_.find(peer);
  if (place == outgoing_.end() || !place->second.socket) return;
  Outgoing& out = place->second;
  if (out.state == Outgoing::State::Connecting) return connected(peer, out);
  if (events & (EPOLLIN | EPOLLERR | EPOLLHUP)) hear_reply(peer, out);
  if ((events & EPOLLOUT) && out.state == Outgoing::State::Open) write(peer, out);
}

void Mesh::hear_reply(int peer, Outgoing& out) {
  std::array<char, CallerHandshake::kChallengeBytes> bytes;
  const bool greeting = out.state == Outgoing::State::Greeting;
  const std::size_t most = greeting ? bytes.size() - out.challenge.size() : 1;
  const ssize_t got = recv(out.socket.get(), bytes.data(), most, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (out.state == Outgoing::State::Open)
    return close_outgoing(peer, out, got < 0 ? in_words(errno) : got == 0 ? "it has ended" : "it broke the protocol");
  if (got <= 0)
    return connect_failed(peer, out, got < 0 ? in_words(errno) : "it closed the connection", Retry::WhileBusy);
  if (!greeting) {
    if (bytes[0] == CallerHandshake::kWelcome) return opened(peer, out);
    return connect_failed(peer, out, "another program answers there", Retry::No);
  }
  out.challenge.append(bytes.data(), static_cast<std::size_t>(got));
  if (out.challenge.size() == bytes.size()) hear_challenge(peer, out);
}

// From here on we wait for as long as its machine answers: it belongs to the job.
void Mesh::hear_challenge(int peer, Outgoing& out) {
  const std::string answer = out.handshake->answer(std::exchange(out.challenge, {}));
  if (answer.empty())
    return connect_failed(peer, out, "another program answers there, which does not know this job's secret", Retry::No);
  if (::send(out.socket.get(), answer.data(), answer.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(answer.size()))
    return connect_failed(peer, out, in_words(errno), Retry::WhileBusy);
  out.state = Outgoing::State::Answering;
  out.until = {};
  out.outstanding = true;
  wake_within(out.health.interval());
}

void Mesh::opened(int peer, Outgoing& out) {
  out.state = Outgoing::State::Open;
  out.was_open = true;
  out.handshake.reset();
  out.refusals.clear();
  out.before.clear();
  write(peer, out);
}

void Mesh::want_room(int peer, Outgoing& out, bool wanted) {
  if (std::exchange(out.waits_for_room, wanted) == wanted) return;
  watch(EPOLL_CTL_MOD, out.socket.get(), kOutgoing | static_cast<std::uint64_t>(peer),
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
      add(out.queue[i].buffer.data(), out.queue[i].buffer.size());
    }
    msghdr message{};
    message.msg_iov = pieces.data();
    message.msg_iovlen = count;
    const ssize_t sent = sendmsg(out.socket.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) return want_room(peer, out, true);
    if (sent < 0) return close_outgoing(peer, out, in_words(errno));
    out.sent += static_cast<std::size_t>(sent);
    if (!std::exchange(out.outstanding, true)) wake_within(out.health.interval());
    while (!out.queue.empty() && out.sent >= sizeof(FrameHeader) + out.queue.front().buffer.size()) {
      out.sent -= sizeof(FrameHeader) + out.queue.front().buffer.size();
      if (out.queue.front().message) out.queue.front().message->done = true;
      out.queue.pop_front();
    }
    if (static_cast<std::size_t>(sent) < whole) return want_room(peer, out, true);
  }
  want_room(peer, out, false);
}

// What the peer has said last may not have been read yet: as long as it is connected to us, that end tells when it has
// gone.
void Mesh::close_outgoing(int peer, Outgoing& out, const std::string& how) {
  out.socket.close();
  out.queue.clear();
  out.state = Outgoing::State::Closed;
  if (std::ranges::none_of(incoming_, [peer](const auto& entry) { return entry.second.peer == peer; })) lose(peer, how);
}

PendingMessage Mesh::send(int to, Tag tag, SharedBuffer buffer) {
  auto message = std::make_shared<MessageState>();
  const FrameHeader header{.kind = FrameKind::Message, .tag = tag, .bytes = buffer.size()};
  push(to, {.header = header, .buffer = std::move(buffer), .message = message});
  return message;
}

void Mesh::note(int to, std::string_view text) {
  push(to, {.header = {.kind = FrameKind::Note, .bytes = text.size()},
            .buffer = shared_buffer_of(text),
            .message = nullptr});
}

std::vector<int> Mesh::connected() const {
  std::set<int> peers = heard_;
  for (const auto& [peer, out] : outgoing_) peers.insert(peer);
  return {peers.begin(), peers.end()};
}

void Mesh::flush(Deadline until) {
  const auto unsent = [this] {
    return std::ranges::any_of(outgoing_, [](const auto& entry) { return !entry.second.queue.empty(); });
  };
  while (unsent() && !until.passed()) {
    pollfd wanted{.fd = poll_.get(), .events = POLLIN, .revents = 0};
    poll(&wanted, 1, support::poll_time(until));
    pump();
  }
}

}  // namespace ronde::comm::detail
