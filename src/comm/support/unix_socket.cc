#include "ronde/comm/support/unix_socket.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <optional>
#include <random>
#include <thread>

#include "ronde/base/error.h"

namespace ronde::comm::support {

UnixAddress unix_address(const std::string& text) {
  UnixAddress address;
  if (text.size() < 2 || text.front() != '@' || text.size() > sizeof(address.name.sun_path))
    throw Error::bad_input("'{}' is not a bootstrap address, such as @ronde-0123", text);
  address.name.sun_family = AF_UNIX;
  // A leading zero instead of the @ makes it abstract; the name has no closing zero.
  std::copy(text.begin() + 1, text.end(), address.name.sun_path + 1);
  address.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + text.size());
  return address;
}

std::string random_address() {
  std::random_device random;
  return fmt::format("@ronde-{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

FileDescriptor make_unix_socket(int type) {
  FileDescriptor socket(::socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) throw Error::system(errno, "cannot make a socket for the ranks of this node");
  return socket;
}

FileDescriptor connect_unix(const std::string& address, int type, const std::string& whom, const Deadline& until) {
  FileDescriptor socket = make_unix_socket(type);
  const UnixAddress name = unix_address(address);
  while (connect(socket.get(), name.get(), name.length) != 0) {
    if (errno == EAGAIN && until.passed())
      throw Error(Error::Kind::Timeout,
                  fmt::format("{} does not accept connections: its queue at {} is full", whom, address));
    if (errno != EAGAIN && errno != EINTR) throw Error::system(errno, "cannot reach {} at {}", whom, address);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return socket;
}

int poll_time(const Deadline& until) {
  const auto left = until.left();
  if (!left) return -1;
  return static_cast<int>(std::min<std::int64_t>(std::chrono::ceil<std::chrono::milliseconds>(*left).count(), 1 << 30));
}

namespace {

std::optional<ucred> peer_of(int socket) {
  ucred peer{};
  socklen_t length = sizeof(peer);
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return {};
  return peer;
}

}  // namespace

bool peer_is_ours(int socket) {
  const auto peer = peer_of(socket);
  return peer && peer->uid == geteuid();
}

int peer_process(int socket) {
  const auto peer = peer_of(socket);
  return peer ? peer->pid : 0;
}

}  // namespace ronde::comm::support
