// The mesh's accepting end: a connection is unverified until it has proven that it comes from a rank of this job.
#include <algorithm>
#include <array>
#include <cerrno>

#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "ronde/base/error.h"
#include "ronde/comm/link/tcp/mesh.h"

namespace ronde::comm::detail {
namespace {

constexpr auto kPause = std::chrono::milliseconds(250);  // before descriptors are asked for again

bool has_run_out(int error) {
  return error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOBUFS;
}

}  // namespace

void Mesh::accept_all(std::size_t listener) {
  while (!paused_) {
    FileDescriptor socket(accept4(listeners_[listener].get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket) {
      let_in(std::move(socket));
    } else if (!has_run_out(errno)) {
      if (errno == EAGAIN || errno == EWOULDBLOCK) return;
    } else if (!unverified_.empty()) {
      unverified_.erase(unverified_.begin());
    } else {
      pause_listening();
    }
  }
}

void Mesh::let_in(FileDescriptor socket) {
  if (unverified_.size() >= options_.most_unverified + static_cast<std::size_t>(options_.job->size()))
    unverified_.erase(unverified_.begin());
  prepare_connection(socket.get(), options_.peer_timeout);
  std::uint64_t id = 0;
  do {
    id = next_id_++ & kNumber;
  } while (incoming_.contains(id) || unverified_.contains(id));
  watch(EPOLL_CTL_ADD, socket.get(), kUnverified | id, EPOLLIN);
  unverified_.emplace(id, UnverifiedConnection{.socket = std::move(socket),
                                               .handshake = {options_.secret, options_.rank, options_.job->size(),
                                                             support::random_bytes()},
                                               .until = Deadline::after(options_.peer_timeout)});
  wake_within(options_.peer_timeout);
}

// Whoever calls waits in the kernel's queue. To look for it all the time would keep a core busy and help nobody.
void Mesh::pause_listening() {
  if (!std::exchange(told_of_pause_, true)) {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    options_.log.warn(
        "out of file descriptors (limit {}): ranks of other nodes cannot connect to this one until some "
        "are closed; raise it with ulimit -n",
        limit.rlim_cur);
  }
  paused_ = true;
  for (std::size_t i = 0; i < listeners_.size(); ++i) watch(EPOLL_CTL_MOD, listeners_[i].get(), kListener | i, 0);
  wake_within(kPause);
}

void Mesh::stop_accepting() {
  listeners_.clear();
  unverified_.clear();
}

void Mesh::resume_listening() {
  if (!std::exchange(paused_, false)) return;
  for (std::size_t i = 0; i < listeners_.size(); ++i) watch(EPOLL_CTL_MOD, listeners_[i].get(), kListener | i, EPOLLIN);
  for (std::size_t i = 0; i < listeners_.size(); ++i) accept_all(i);
}

// False when it is no unverified connection any more.
bool Mesh::read_unverified(std::uint64_t id, UnverifiedConnection& connection) {
  using State = ListenerHandshake::State;
  std::array<char, 64> bytes;
  while (connection.handshake.wants() > 0) {
    const ssize_t got =
        recv(connection.socket.get(), bytes.data(), std::min(bytes.size(), connection.handshake.wants()), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    if (got <= 0) return false;
    const std::string reply = connection.handshake.add({bytes.data(), static_cast<std::size_t>(got)});
    // A fresh connection has room for so little.
    if (!reply.empty() && ::send(connection.socket.get(), reply.data(), reply.size(), MSG_NOSIGNAL | MSG_DONTWAIT) !=
                              static_cast<ssize_t>(reply.size()))
      return false;
  }
  if (connection.handshake.state() != State::Accepted) return false;
  watch(EPOLL_CTL_MOD, connection.socket.get(), kIncoming | id, EPOLLIN);
  Incoming& in = incoming_[id];
  in.socket = std::move(connection.socket);
  in.peer = connection.handshake.peer();
  heard_.insert(in.peer);
  return false;
}

void Mesh::expire_unverified() {
  while (!unverified_.empty() && unverified_.begin()->second.until.passed()) unverified_.erase(unverified_.begin());
  if (!unverified_.empty()) wake_within(*unverified_.begin()->second.until.left());
}

}  // namespace ronde::comm::detail
