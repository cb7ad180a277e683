#include "ronde/comm/link/tcp/mesh.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include <poll.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>

#include "ronde/base/error.h"
#include "ronde/comm/support/unix_socket.h"

namespace ronde::comm::detail {
Mesh::Mesh(std::vector<FileDescriptor> listeners, Options options)
    : options_(std::move(options)),
      poll_(epoll_create1(EPOLL_CLOEXEC)),
      timer_(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {
  if (!poll_ || !timer_) throw Error::system(errno, "cannot watch the ranks of other nodes");
  watch(EPOLL_CTL_ADD, timer_.get(), kTimer, EPOLLIN);
  for (FileDescriptor& listener : listeners) {
    watch(EPOLL_CTL_ADD, listener.get(), kListener | listeners_.size(), EPOLLIN);
    listeners_.emplace_back(std::move(listener));
  }
}

Mesh::~Mesh() = default;

void Mesh::listen(Callbacks callbacks) {
  callbacks_ = std::move(callbacks);
  for (const auto& [peer, how] : lost_) callbacks_.lost(peer, how);
}

std::uint64_t Mesh::key(int peer, Tag tag) {
  return (static_cast<std::uint64_t>(peer) << 40) | (static_cast<std::uint64_t>(tag.channel) << 8) | tag.lane;
}

void Mesh::watch(int operation, int socket, std::uint64_t what, std::uint32_t events) const {
  epoll_event event{.events = events, .data = {.u64 = what}};
  if (epoll_ctl(poll_.get(), operation, socket, &event) != 0) throw Error::system(errno, "cannot watch a connection");
}

// A peer that has come and gone has come.
bool Mesh::reached(int peer) {
  if (outgoing(peer).was_open) return true;
  if (const auto lost = lost_.find(peer); lost != lost_.end())
    throw Error(Error::Kind::PeerLost, fmt::format("{}: {}", name(peer), lost->second), {.ranks = {peer}});
  return false;
}

// Empty when all are there.
std::string Mesh::still_missing(const std::vector<int>& call, const std::vector<int>& called_by) {
  for (const int peer : call) {
    if (reached(peer)) continue;
    const Outgoing& out = outgoing(peer);
    const Endpoint& there = out.there;
    const std::string& before = out.refusals.empty() ? out.before : out.refusals;
    return fmt::format("{} does not answer at {} port {}{}", name(peer),
                       out.address < there.addresses.size() ? there.addresses[out.address].ip : "any address",
                       there.port, before.empty() ? "" : "; before that " + before);
  }
  for (const int peer : called_by)
    if (!heard_.contains(peer)) return fmt::format("{} has not connected to this rank", name(peer));
  return {};
}

void Mesh::meet(const std::vector<int>& call, const std::vector<int>& called_by, Deadline until) {
  for (const int peer : call) outgoing(peer);
  for (std::string missing; !(missing = still_missing(call, called_by)).empty(); pump()) {
    if (until.passed()) throw Error(Error::Kind::Timeout, missing + " at the start");
    pollfd wanted{.fd = poll_.get(), .events = POLLIN, .revents = 0};
    poll(&wanted, 1, support::poll_time(until));
  }
}

bool Mesh::pump() {
  std::array<epoll_event, 32> events;
  const int count = epoll_wait(poll_.get(), events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < count; ++i) {
    const auto& event = events[static_cast<std::size_t>(i)];
    const std::uint64_t number = event.data.u64 & kNumber, what = event.data.u64 & ~kNumber;
    if (what == kTimer) {
      hear_timer();
    } else if (what == kListener) {
      accept_all(number);
    } else if (what == kOutgoing) {
      hear_outgoing(static_cast<int>(number), event.events);
    } else if (const auto connection = unverified_.find(number);
               what == kUnverified && connection != unverified_.end()) {
      if (!read_unverified(number, connection->second)) unverified_.erase(number);
    } else if (const auto in = incoming_.find(number); what == kIncoming && in != incoming_.end()) {
      if (!hear(in->second)) incoming_.erase(number);
    }
  }
  return count > 0;
}

// Its goodbye may still come round.
void Mesh::doubt(int peer, const std::string& how, std::chrono::milliseconds time) {
  if (time.count() == 0) return lose(peer, how);
  if (doubtful_.try_emplace(peer, Doubt{Deadline::after(time), how}).second) wake_within(time);
}

void Mesh::lose(int peer, const std::string& how) {
  if (!lost_.emplace(peer, how).second) return;
  if (const auto place = outgoing_.find(peer); place != outgoing_.end()) {
    place->second.socket.close();
    place->second.queue.clear();
    place->second.state = Outgoing::State::Closed;
  }
  if (callbacks_.lost) callbacks_.lost(peer, how);
}

}  // namespace ronde::comm::detail
